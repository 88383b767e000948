"""A model server for tests of memory banks. It speaks OpenAI's API on a port of its own, answers by
a rule that tells what a run must end with, and fails where it is told to.

The rule is that of src/memory/testing/topic_consolidator.h: of facts "TOPIC: VALUE" there is one
observation for each topic, with the last value that was told. Embeddings are hashed bags of words.
"""

import collections
import hashlib
import json
import math
import re
import socket
import struct
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

CHAT = "chat"
EMBED = "embed"

# What a fault does to a reply.
RATE_LIMIT = "rate_limit"  # 429 with Retry-After
NO_RIGHT = "no_right"  # 401
ERROR = "error"  # 500
WRONG_FORM = "wrong_form"  # an answer that is no JSON of the wanted form
NO_JSON = "no_json"  # a body that is no JSON
CUT = "cut"  # the connection ends in the middle of the body
CLOSED = "closed"  # the connection ends without a reply

# A question to the server: its kind (CHAT or EMBED), its number among all, counted from 1, and the
# texts of its facts, or the texts to embed.
Call = collections.namedtuple("Call", "kind number texts")

NAMED_TEXT = re.compile(r"^([FO])\d+: ")


def topic_of(text):
    return text.split(":")[0]


def named_texts(prompt, letter):
    """[(name, text)] of the lines "F1: TEXT (NOTES)" of a prompt."""
    found = []
    for line in prompt.split("\n"):
        if NAMED_TEXT.match(line) and line[0] == letter:
            name, text = line.split(": ", 1)
            found.append((name, text.rpartition(" (")[0] or text))
    return found


def consolidated(prompt):
    """The changes that an ideal model answers to a prompt of the profile `compact`."""
    observations = {topic_of(text): name for name, text in named_texts(prompt, "O")}
    changes = {}  # by topic
    for name, text in named_texts(prompt, "F"):
        change = changes.setdefault(topic_of(text), {"source_fact_ids": [], "reason": "told"})
        change["text"] = text
        change["source_fact_ids"].append(name)
    answer = {"creates": [], "updates": [], "deletes": []}
    for topic, change in changes.items():
        if topic in observations:
            answer["updates"].append(dict(change, observation_id=observations[topic]))
        else:
            answer["creates"].append(change)
    return json.dumps(answer)


def embedding(text, size):
    vector = [0.0] * size
    for word in re.findall(r"\w+", text.lower()):
        digest = hashlib.blake2b(word.encode(), digest_size=8).digest()
        vector[struct.unpack("<Q", digest)[0] % size] += 1.0
    length = math.sqrt(sum(x * x for x in vector)) or 1.0
    return [x / length for x in vector]


class ModelServer:
    """Listens from its start to its end: `with ModelServer() as server`.

    `fault(call)` names the fault of a reply or returns None; `on_call(call)` is told of each
    question before it is answered. Both are called by the threads of the connections. While
    `answering` is clear, replies wait.
    """

    def __init__(self, delay_s=0.0, embedding_size=256):
        self.delay_s = delay_s
        self.embedding_size = embedding_size
        self.fault = lambda call: None
        self.on_call = lambda call: None
        self.answering = threading.Event()
        self.answering.set()
        self.calls = []
        self.closing = threading.Event()
        self._lock = threading.Lock()
        server = self

        class Handler(QuestionHandler):
            models = server

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self._http.block_on_close = False
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,))

    @property
    def url(self):
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self.closing.set()
        self.answering.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def chats(self):
        with self._lock:
            return [call for call in self.calls if call.kind == CHAT]

    def begin(self, kind, texts):
        """Notes a question and waits as long as its reply shall take."""
        with self._lock:
            call = Call(kind, len(self.calls) + 1, texts)
            self.calls.append(call)
        self.on_call(call)
        self.closing.wait(self.delay_s)
        self.answering.wait()
        return call


class QuestionHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server_version = "tests"  # another name would be that of a server that people use
    sys_version = ""
    models = None  # the ModelServer

    def log_message(self, *_):
        pass

    def handle(self):
        try:
            super().handle()
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True  # the client was killed

    def do_GET(self):
        if self.path == "/v1/models":
            self.reply({"object": "list",
                        "data": [{"id": name, "object": "model", "owned_by": "tests"}
                                 for name in (CHAT, EMBED)]})
        else:
            self.reply({"error": {"message": f"there is no {self.path}"}}, 404)

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if body.get("model") not in (CHAT, EMBED):
            self.reply({"error": {"message": f"there is no model {body.get('model')}",
                                  "code": "model_not_found"}}, 404)
        elif self.path == "/v1/chat/completions":
            self.chat(body)
        elif self.path == "/v1/embeddings":
            self.embeddings(body)
        else:
            self.reply({"error": {"message": f"there is no {self.path}"}}, 404)

    def chat(self, body):
        prompt = body["messages"][-1]["content"]
        call = self.models.begin(CHAT, [text for _, text in named_texts(prompt, "F")])
        form = body.get("response_format", {}).get("json_schema", {}).get("name")
        if form == "observation_changes":
            text = consolidated(prompt)
        else:  # whether two observations are one, or another question
            text = json.dumps({"action": "keep", "text": "", "reason": "they differ"})
        fault = self.models.fault(call)
        if fault == WRONG_FORM:
            text, fault = text[:len(text) // 2], None
        self.answer({
            "id": f"chatcmpl-{call.number}", "object": "chat.completion", "created": 1,
            "model": body["model"],
            "choices": [{"index": 0, "finish_reason": "stop",
                         "message": {"role": "assistant", "content": text}}],
            "usage": {"prompt_tokens": len(prompt) // 4, "completion_tokens": len(text) // 4,
                      "total_tokens": len(prompt) // 4 + len(text) // 4}}, fault)

    def embeddings(self, body):
        texts = body["input"] if isinstance(body["input"], list) else [body["input"]]
        call = self.models.begin(EMBED, texts)
        size = self.models.embedding_size
        self.answer({
            "object": "list", "model": body["model"],
            "data": [{"object": "embedding", "index": index, "embedding": embedding(text, size)}
                     for index, text in enumerate(texts)],
            "usage": {"prompt_tokens": len(texts), "total_tokens": len(texts)}},
            self.models.fault(call))

    def answer(self, reply, fault):
        if fault is None:
            self.reply(reply)
        elif fault == RATE_LIMIT:
            self.reply({"error": {"message": "too many requests", "code": "rate_limit"}}, 429,
                       {"Retry-After": "1"})
        elif fault == NO_RIGHT:
            self.reply({"error": {"message": "this key is not known"}}, 401)
        elif fault == ERROR:
            self.reply({"error": {"message": "something broke"}}, 500)
        elif fault == NO_JSON:
            self.send(b"<html>", 200, {}, 6)
        elif fault == CUT:
            whole = json.dumps(reply).encode()
            self.send(whole[:len(whole) // 2], 200, {}, len(whole))
            self.hang_up()
        elif fault == CLOSED:
            self.hang_up()
        else:
            raise ValueError(f"there is no fault {fault}")

    def reply(self, reply, status=200, headers=None):
        body = json.dumps(reply).encode()
        self.send(body, status, headers or {}, len(body))

    def send(self, body, status, headers, length):
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(length))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def hang_up(self):
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)
