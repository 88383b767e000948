"""The program, run on files of a folder; for open_test.py and store.py."""

import contextlib
import json
import os
import subprocess
import urllib.error
import urllib.request
from pathlib import Path

PROGRAM = os.environ["WINDROW_PROGRAM"]
HERE = Path(__file__).resolve().parent
EMBEDDER = HERE.parent.parent / "models" / "windrow-embed.gguf"
LIMIT_S = 120  # a command that has not ended by then never will

# The simulated model of the stored job; its options are part of the job record.
MODEL = "sim:instant,answer-tokens=8"


def environment(folder):
    """Without settings of the machine."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("WINDROW_")}
    if "WINDROW_GGML_BACKENDS" in os.environ:
        kept["WINDROW_GGML_BACKENDS"] = os.environ["WINDROW_GGML_BACKENDS"]
    return {**kept, "XDG_CONFIG_HOME": str(folder), "LC_ALL": "C.UTF-8"}


def run(folder, *words, codes=(0,), given=None):
    """What a command prints. It ends with one of `codes`."""
    ended = subprocess.run([PROGRAM, *map(str, words)], cwd=folder, env=environment(folder),
                           input=given, stdin=subprocess.DEVNULL if given is None else None,
                           capture_output=True, text=True, timeout=LIMIT_S, check=False)
    if ended.returncode not in codes:
        raise AssertionError(f"{words} ended with {ended.returncode}: {ended.stdout}{ended.stderr}")
    return ended.stdout


def run_job(folder, *flags, codes=(0,)):
    return run(folder, "run", "requests.jsonl", "-o", "results.jsonl", "--model", MODEL, *flags,
               codes=codes)


class Server:
    """A running `windrow serve` or `windrow sim-upstream`, by its URL."""

    def __init__(self, url, key=None):
        self.url, self.key = url, key

    def ask(self, path, body=None, method=None, kind="application/json"):
        """The reply's body; any other reply than 2xx is an error that shows it."""
        data = body
        if body is not None and not isinstance(body, bytes):
            data = json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data=data, method=method)
        request.add_header("Content-Type", kind)
        if self.key:
            request.add_header("Authorization", f"Bearer {self.key}")
        try:
            with urllib.request.urlopen(request, timeout=LIMIT_S) as reply:
                return reply.read()
        except urllib.error.HTTPError as error:
            error.msg = f"{error.msg}: {error.read().decode()}"
            raise

    def json(self, path, body=None, method=None):
        return json.loads(self.ask(path, body, method))

    def status_of(self, path):
        try:
            self.ask(path)
        except urllib.error.HTTPError as error:
            return error.code
        return 200


@contextlib.contextmanager
def started(folder, *words):
    """A process that is stopped afterwards, and its lines."""
    process = subprocess.Popen([PROGRAM, *map(str, words)], cwd=folder, env=environment(folder),
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.terminate()
        process.communicate(timeout=LIMIT_S)


@contextlib.contextmanager
def serving_data(folder, *flags):
    """A server on the folder data/, when it is ready."""
    with started(folder, "serve", "--model", MODEL, "--listen", "127.0.0.1:0", "--data-dir", "data",
                 "--json", "--memory-set", "retain_extraction_mode=verbatim", *flags) as process:
        url = None
        for line in process.stdout:
            event = json.loads(line)
            url = event.get("url", url)
            if event["event"] == "ready":
                break
        else:
            raise AssertionError(f"the server ended: {process.stderr.read()}")
        yield Server(url)


@contextlib.contextmanager
def simulated_server(folder):
    """The URL of a server that answers at once."""
    with started(folder, "sim-upstream", "--instant", "--port", "0") as process:
        yield process.stdout.readline().strip()
