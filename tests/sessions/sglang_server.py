"""A scripted server with SGLang's chat API as trainers run it: it says what a test wants."""

import base64
import json
import socket
import struct
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

END = 2047  # <|im_end|> of the model of the repository
CHAT = "/v1/chat/completions"

# What any client may ask a server at any time; no calls of these tests.
PROBED = ("/v1/models", "/health", "/version", "/get_server_info", "/api/version", "/props")


class Call:
    """A request that the server got."""

    def __init__(self, number, method, path, headers, body):
        self.number, self.method, self.path = number, method, path
        self.headers, self.body = headers, body

    @property
    def json(self):
        return json.loads(self.body)

    def header(self, name):
        """All values."""
        return [value for key, value in self.headers if key.lower() == name.lower()]


class Said:
    """What the server answers. `dropped`: so many bytes of it, and the connection breaks."""

    def __init__(self, body, status=200, content_type="application/json", headers=(),
                 dropped=None):
        self.body = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.status, self.content_type, self.headers = status, content_type, headers
        self.dropped = dropped


def ids_of(number):
    """Of the answer to the call of this number: no two have the same."""
    return [300 + number % 1000, 301 + number % 1000, END]


def logprobs_of(ids):
    return [-(index + 1) / 128 for index in range(len(ids))]


def rows_text(first, count, layers=2, topk=2):
    """Rows as SGLang sends them; the values of row i are (8 i + layer + k) mod 64."""
    values = [(8 * row + layer + k) % 64 for row in range(first, first + count)
              for layer in range(layers) for k in range(topk)]
    return base64.b64encode(struct.pack(f"<{len(values)}i", *values)).decode()


def completion(call, text=None, ids=None, finish="stop", message=None, meta=None, **members):
    """A chat completion with its tokens."""
    ids = ids_of(call.number) if ids is None else ids
    content = f"answer {call.number}" if text is None else text
    asked = call.json.get("input_ids", [])
    info = {"id": f"id-{call.number}", "finish_reason": {"type": finish},
            "prompt_tokens": len(asked), "weight_version": "w1",
            "output_token_logprobs": [[logprob, token, "t"] for logprob, token
                                      in zip(logprobs_of(ids), ids)],
            "completion_tokens": len(ids), "cached_tokens": 0, **(meta or {})}
    said = {"role": "assistant", "content": content, "reasoning_content": None,
            "tool_calls": None, **(message or {})}
    return {"id": f"chatcmpl-{call.number:08x}", "object": "chat.completion", "created": 1700000000,
            "model": "mock-model", "choices": [
                {"index": 0, "message": said, "logprobs": {"content": []},
                 "finish_reason": finish, "meta_info": info}], **members}


def answer(call):
    """What the server says unless a test tells it otherwise."""
    return Said(completion(call))


class QuietServer(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, *words):
        super().__init__(*words)
        self.connections = []

    def process_request(self, request, client_address):
        self.connections.append(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request):
        self.connections.remove(request)
        super().shutdown_request(request)

    def close_connections(self):
        for connection in list(self.connections):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # its client was quicker

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], OSError):  # a client may leave at any time
            super().handle_error(request, client_address)


class SglangServer:
    """`script(call)` returns a Said, on a thread of the call's own."""

    def __enter__(self):
        self.lock = threading.Lock()
        self.reset()
        self.server = QuietServer(("127.0.0.1", 0), self.handler())
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,))
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.released.set()
        self.server.shutdown()
        self.server.server_close()
        self.server.close_connections()
        self.thread.join()

    def reset(self):
        """Forgets calls, and answers as a healthy server."""
        with self.lock:
            self.calls, self.script = [], answer
            self.at_once, self.at_once_max = 0, 0
        self.released = threading.Event()  # for scripts that wait
        self.arrived = threading.Semaphore(0)  # once for each call of a model

    def turns(self):
        """The bodies of chats, in the order of their arrival."""
        return [call.json for call in self.calls if call.path == CHAT]

    def hold(self):
        """Chats are answered once `released` is set. Returns that event."""
        released = self.released

        def wait(call):
            released.wait()
            return answer(call)
        self.script = wait
        return released

    def take(self, method, path, headers, body):
        with self.lock:
            call = Call(len(self.calls), method, path, headers, body)
            if path not in PROBED:
                self.calls.append(call)
            self.at_once += 1
            self.at_once_max = max(self.at_once_max, self.at_once)
        return call

    def handler(self):
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_one(self):
                size = int(self.headers.get("Content-Length", 0))
                body = self.rfile.read(size)
                call = outer.take(self.command, self.path, self.headers.items(), body)
                try:
                    self.reply(outer.said(call))
                except OSError:
                    self.close_connection = True
                finally:
                    with outer.lock:
                        outer.at_once -= 1

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_one

            def reply(self, said):
                self.send_response(said.status)
                if said.content_type:
                    self.send_header("Content-Type", said.content_type)
                for name, value in said.headers:
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(said.body)))
                self.end_headers()
                self.wfile.write(said.body[:said.dropped])
                if said.dropped is not None:
                    self.close_connection = True

            def log_message(self, *_):
                pass

        return Handler

    def said(self, call):
        if call.path == "/v1/models":
            return Said({"object": "list", "data": [{"id": "chat", "object": "model"}]})
        if call.path in PROBED:
            return Said({"error": "none"}, 404)
        self.arrived.release()
        return self.script(call)
