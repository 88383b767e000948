"""The servers that are compared, as child processes that listen on a port of their own."""

import http.client
import json
import os
import re
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(HERE, "../llama_server"))

from child import Child, Problem  # noqa: E402
from server import HOST, find_program, free_port  # noqa: E402

START_SECONDS_MAX = 300


class Server(Child):
    """Answers when it is entered."""

    def __init__(self, words, ready):
        self.port = free_port()
        self.url = f"http://{HOST}:{self.port}"
        self.ready = ready
        super().__init__([word.replace("PORT", str(self.port)) for word in words])

    def __enter__(self):
        deadline = time.monotonic() + START_SECONDS_MAX
        while not self.answers():
            if self.process.poll() is not None or time.monotonic() > deadline:
                words = self.last_words()
                self.__exit__()
                raise Problem("a server did not start:\n" + words)
            time.sleep(0.1)
        return self

    def answers(self):
        connection = http.client.HTTPConnection(HOST, self.port, timeout=5)
        try:
            connection.request("GET", self.ready)
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def get(self, path):
        connection = http.client.HTTPConnection(HOST, self.port, timeout=60)
        try:
            connection.request("GET", path)
            return connection.getresponse().read().decode()
        finally:
            connection.close()

    def memory_mb(self):
        with open(f"/proc/{self.process.pid}/status", encoding="utf-8") as status:
            return int(re.search(r"VmRSS:\s*(\d+)", status.read()).group(1)) / 1024


def windrow(program, models, *more):
    words = [program, "serve", "--listen", f"{HOST}:PORT", "--log", "none"]
    for name, path in models.items():
        words += ["--model", f"{name}={path}"]
    return Server([*words, *more], "/ready")


def llama_server(program, model, *more):
    return Server([find_program(program), "--model", model, "--host", HOST, "--port", "PORT",
                   "--no-webui", *more], "/health")


def load(program, url, lines, **options):
    """The report of bench_load for these bodies, sent as the options say."""
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl", encoding="utf-8") as bodies:
        bodies.write("\n".join(lines) + "\n")
        bodies.flush()
        words = [program, url, "--bodies", bodies.name]
        for name, value in options.items():
            words += ["--" + name.replace("_", "-"), str(value)]
        run = subprocess.run(words, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        raise Problem("bench_load failed: " + run.stderr.strip())
    return json.loads(run.stdout)
