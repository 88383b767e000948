"""llama-server as a child process, and rounds of rows sent to it."""

import http.client
import json
import os
import queue
import shutil
import socket
import subprocess
import threading
import time

from child import Child, Problem, TooSlow

HOST = "127.0.0.1"
START_SECONDS_MAX = 300
WARM_UP_TOKENS = 16

# The configurations to compare: the server's own choice of slots, and its two ways to serve many.
CONFIGURATIONS = {
    "automatic": lambda at_once: [],
    "split": lambda at_once: ["--parallel", str(at_once), "--no-kv-unified"],
    "unified": lambda at_once: ["--parallel", str(at_once), "--kv-unified"],
}


def find_program(given):
    """The llama-server of the runtime that ./setup made, else the system's."""
    if given:
        places = [given]
    else:
        cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
        # setup gave it the loader of the runtime, so it is started like any other program. By its
        # real path: the runtime may be replaced while this runs.
        places = [os.path.join(cache, "windrow/runtime/current/tools/llama-server"),
                  shutil.which("llama-server") or ""]
    for place in places:
        if os.access(place, os.X_OK) and os.path.isfile(place):
            return os.path.realpath(place)
    raise Problem(f"there is no llama-server at {places[0]}: run ./setup --bench, or name one with "
                  "--llama-server")


def version_of(program):
    run = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=60,
                         check=False)
    lines = (run.stdout + run.stderr).splitlines()
    found = [line for line in lines if line.startswith("version:")]
    if run.returncode != 0 or not found:
        raise Problem(f"{program} does not start:\n" + "\n".join(lines[-5:]))
    return found[0].removeprefix("version:").strip()


def free_port():
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return probe.getsockname()[1]


class Server(Child):
    """Answers when it is entered."""

    def __init__(self, program, model, cells, threads, arguments):
        self.port = free_port()
        self.slots = 0
        super().__init__([program, "--model", model, "--host", HOST, "--port", str(self.port),
                          "--ctx-size", str(cells), "--threads", str(threads),
                          "--threads-batch", str(threads), "--no-webui", *arguments])

    def __enter__(self):
        try:
            self.wait_until_healthy()
            self.slots = json.loads(self.ask("GET", "/props", None, 60)).get("total_slots", 0)
        except BaseException:
            self.__exit__()
            raise
        return self

    def wait_until_healthy(self):
        deadline = time.monotonic() + START_SECONDS_MAX
        while True:
            if self.process.poll() is not None:
                raise Problem("llama-server ended before it answered:\n" + self.last_words())
            try:
                self.ask("GET", "/health", None, 5)
                return
            except (OSError, http.client.HTTPException, Problem):
                if time.monotonic() > deadline:
                    raise Problem(f"llama-server does not answer after {START_SECONDS_MAX} s:\n"
                                  + self.last_words()) from None
            time.sleep(0.1)

    def ask(self, method, path, body, seconds_max):
        connection = http.client.HTTPConnection(HOST, self.port, timeout=seconds_max)
        try:
            connection.request(method, path, body, {"Content-Type": "application/json"})
            response = connection.getresponse()
            text = response.read()
        finally:
            connection.close()
        if response.status != 200:
            raise Problem(f"llama-server answered {path} with {response.status}: {text[:300]!r}")
        return text

    def warm_up(self, rows):
        """Like the other contenders: one short row that shares nothing with what comes."""
        self.complete(body_of(rows[0]["prompt"][-WARM_UP_TOKENS:], 2), 120)

    def complete(self, body, seconds_max):
        return json.loads(self.ask("POST", "/completion", body, seconds_max))

    def measure(self, rows, answer_tokens, connections, seconds_max, fields=None):
        """Sends all rows in their order, each connection its next as soon as it has an answer.

        `fields` are added to every body, and replace what is in it.
        """
        waiting = queue.SimpleQueue()
        for row in rows:
            waiting.put((row["prompt"], body_of(row["prompt"], answer_tokens, fields)))
        outcomes = queue.SimpleQueue()
        start = time.monotonic()
        deadline = start + seconds_max

        def work():
            try:
                while True:
                    prompt, body = waiting.get_nowait()
                    answer = self.complete(body, max(0.1, deadline - time.monotonic()))
                    outcomes.put(checked(answer, prompt, answer_tokens))
            except queue.Empty:
                pass
            except Exception as problem:
                outcomes.put(problem)

        # These threads are not joined: they end with their connections, when the server does.
        for _ in range(connections):
            threading.Thread(target=work, daemon=True).start()
        prefilled = 0
        for done in range(len(rows)):
            try:
                outcome = outcomes.get(timeout=max(0.1, deadline - time.monotonic()))
            except queue.Empty:
                outcome = TimeoutError()
            if isinstance(outcome, TimeoutError):
                raise TooSlow(f"{done} of {len(rows)} rows in {seconds_max} s")
            if isinstance(outcome, Problem):
                raise outcome
            if isinstance(outcome, Exception):
                raise Problem(f"llama-server broke off ({outcome!r}):\n{self.last_words()}")
            prefilled += outcome
        return {"rows_per_second": len(rows) / (time.monotonic() - start),
                "prefilled_tokens": prefilled, "generated_tokens": answer_tokens * len(rows)}


def body_of(prompt, answer_tokens, fields=None):
    return json.dumps({
        "prompt": prompt, "n_predict": answer_tokens, "ignore_eos": True, "temperature": 0,
        "cache_prompt": True, "stream": False,
        "response_fields": ["tokens_predicted", "tokens_evaluated", "truncated", "timings"],
        **(fields or {}),
    }).encode()


def checked(answer, prompt, answer_tokens):
    """Tokens it prefilled for the row; a Problem when it did other work than was asked."""
    for what, got, wanted in (("generated", answer.get("tokens_predicted"), answer_tokens),
                              ("read as prompt", answer.get("tokens_evaluated"), len(prompt)),
                              ("said of truncation", answer.get("truncated"), False)):
        if got != wanted:
            raise Problem(f"llama-server {what}: {got}, not {wanted}; that cannot be compared")
    return answer["timings"]["prompt_n"]
