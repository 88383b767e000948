"""`windrow serve` as a process, and clients of its sessions."""

import collections
import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from urllib.parse import urlsplit

PROGRAM = os.environ["WINDROW_PROGRAM"]
MODEL_FILE = Path(os.environ["WINDROW_DEMO_MODELS"]) / "windrow-demo.gguf"
LIMIT_S = 120  # a process that has not answered by then never will

Ended = collections.namedtuple("Ended", "code out err")


class Reply:
    """A reply over HTTP."""

    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def error(self):
        return self.json["error"]

    def __repr__(self):
        return f"{self.status} {self.headers} {self.body[:2000]}"


def ask(url, method, path, body=None, headers=()):
    """`body`: bytes as they are, else JSON."""
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=LIMIT_S)
    try:
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        connection.request(method, path, data,
                           {"Content-Type": "application/json", **dict(headers)})
        got = connection.getresponse()
        return Reply(got.status, got.getheaders(), got.read())
    finally:
        connection.close()


def wait_until(holds, what, limit_s=LIMIT_S):
    end = time.monotonic() + limit_s
    while not holds():
        if time.monotonic() > end:
            raise AssertionError(f"not after {limit_s} s: {what}")
        threading.Event().wait(0.02)


def all_of(*tasks):
    """What these return that run at the same time."""
    results = [None] * len(tasks)

    def run(index):
        try:
            results[index] = tasks[index]()
        except Exception as problem:  # pylint: disable=broad-except
            results[index] = problem

    threads = [threading.Thread(target=run, args=(index,)) for index in range(len(tasks))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for result in results:
        if isinstance(result, Exception):
            raise result
    return results


class Folder:
    """A folder for files of a test, and what it started: `with Folder() as folder`."""

    def __enter__(self):
        self.path = Path(tempfile.mkdtemp(prefix="windrow-sessions-"))
        self.started = []
        return self

    def __exit__(self, *_):
        for process in self.started:
            if process.poll() is None:
                process.kill()
            process.wait()
            for pipe in (process.stdout, process.stderr):
                pipe.close()
        shutil.rmtree(self.path)

    def start(self, *words, **more):
        kept = {name: value for name, value in os.environ.items()
                if not name.startswith("WINDROW_")}
        kept.update({"XDG_CONFIG_HOME": str(self.path), "LC_ALL": "C.UTF-8",
                     **more.pop("variables", {})})
        process = subprocess.Popen([PROGRAM, *map(str, words)], cwd=self.path, env=kept,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, **more)
        self.started.append(process)
        return process

    def run(self, *words, **more):
        """A command from its start to its end."""
        process = self.start(*words, **more)
        try:
            out, err = process.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            raise AssertionError(f"{process.args} did not end") from None
        return Ended(process.returncode, out.decode(), err.decode())


class Simulated:
    """`windrow sim-upstream`."""

    FLAGS = ("--listen", "127.0.0.1:0", "--token-ids", "300-1900", "--end-token", "2047",
             "--answer-tokens", "8", "--token-ms", "0", "--prompt-token-us", "0", "--slots", "32")

    def __init__(self, folder, *flags):
        self.process = folder.start("sim-upstream", *self.FLAGS, *flags)
        self.url = self.process.stdout.readline().decode().strip()
        if not self.url:
            raise AssertionError(self.process.stderr.read().decode())


class Server:
    """`windrow serve` from its start until it is ready, and questions to it."""

    def __init__(self, folder, *flags, log="none"):
        self.process = folder.start("serve", "--listen", "127.0.0.1:0", "--json", "--log", log,
                                    *flags)
        self.url = None
        for line in self.process.stdout:
            event = json.loads(line)
            self.url = self.url or event.get("url")
            if event.get("event") == "ready":
                break
        else:
            raise AssertionError(f"the server ended: {self.process.stderr.read().decode()}")
        self.said = []
        self.readers = [threading.Thread(target=self.read, args=(pipe,), daemon=True)
                        for pipe in (self.process.stdout, self.process.stderr)]
        for reader in self.readers:
            reader.start()

    def read(self, pipe):
        for line in pipe:
            self.said.append(line.decode())

    def ask(self, method, path, body=None, headers=()):
        return ask(self.url, method, path, body, headers)

    def session(self, options=None, headers=()):
        """A new one."""
        created = self.ask("POST", "/sessions", options, headers)
        if created.status != 200:
            raise AssertionError(f"no session: {created}")
        return Conversation(self, created.json["session_id"], created.json.get("session_key"),
                            headers)

    def metric(self, name):
        text = self.ask("GET", "/metrics").body.decode()
        found = re.search(rf"^{re.escape(name)} (\S+)$", text, re.MULTILINE)
        return None if found is None else float(found[1])

    def stop(self, number=signal.SIGTERM):
        """Its exit code."""
        self.process.send_signal(number)
        code = self.process.wait(LIMIT_S)
        for reader in self.readers:
            reader.join()
        return code


class Conversation:
    """A session, and the messages of its agent."""

    MODEL = "chat"

    def __init__(self, server, name, key, headers=()):
        self.server, self.id, self.key, self.headers = server, name, key, headers
        self.path = f"/sessions/{name}"
        self.messages = []

    def chat(self, messages, **members):
        """A turn; nothing is kept of it."""
        return self.server.ask("POST", f"{self.path}/v1/chat/completions",
                               {"model": self.MODEL, "messages": messages, **members},
                               self.headers)

    def say(self, *messages, **members):
        """A turn that goes on from what was answered."""
        self.messages += messages
        reply = self.chat(self.messages, **members)
        if reply.status != 200:
            raise AssertionError(f"no turn: {reply}")
        message = streamed_message(reply) if members.get("stream") else message_of(reply)
        self.messages.append(message)
        return reply

    def show(self, records="all"):
        shown = self.server.ask("GET", f"{self.path}?records={records}", headers=self.headers)
        if shown.status != 200:
            raise AssertionError(f"not shown: {shown}")
        return shown.json

    @property
    def records(self):
        return self.show()["records"]

    @property
    def metadata(self):
        return self.show("none")["metadata"]

    def samples(self, **members):
        made = self.server.ask("POST", f"{self.path}/samples", members, self.headers)
        if made.status != 200:
            raise AssertionError(f"no samples: {made}")
        return made.body

    def delete(self):
        return self.server.ask("DELETE", self.path, headers=self.headers)


def message_of(reply):
    """What an agent keeps of an answer."""
    message = reply.json["choices"][0]["message"]
    return {name: value for name, value in message.items()
            if value is not None or name == "content"}


def events_of(reply):
    """The data of server-sent events, as texts."""
    text = reply.body.decode()
    if not text.endswith("\n\n"):
        raise AssertionError(f"an event is cut: {text[-200:]}")
    return [event.removeprefix("data: ") for event in text.split("\n\n")[:-1]]


def streamed_message(reply):
    """The message that the events of a stream make."""
    events = events_of(reply)
    if events[-1] != "[DONE]":
        raise AssertionError(f"a stream without an end: {events[-3:]}")
    message = {"role": "assistant", "content": ""}
    for event in map(json.loads, events[:-1]):
        for choice in event.get("choices", ()):
            delta = choice["delta"]
            message["content"] += delta.get("content") or ""
            for call in delta.get("tool_calls", ()):
                message.setdefault("tool_calls", []).append(
                    {name: value for name, value in call.items() if name != "index"})
    return message


def user(text):
    return {"role": "user", "content": text}


def tool(text):
    return {"role": "tool", "content": text, "tool_call_id": "t0"}
