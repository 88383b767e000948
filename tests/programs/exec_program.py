"""`windrow exec` as a process, in a folder of its own."""

import collections
import json
import os
import shutil
import subprocess
import tempfile
import threading
import unittest
from pathlib import Path

PROGRAM = os.environ["WINDROW_PROGRAM"]
DEMO = Path(os.environ["WINDROW_DEMO_MODELS"]) / "windrow-demo.gguf"
EXAMPLES = Path(os.environ["WINDROW_EXAMPLES"])
LIMIT_S = 120  # a command that has not ended by then never will

INSTANT = "sim:instant,answer-tokens=8"
SLOW = "sim:step-us=3000,row-us=0,prompt-token-us=0,answer-tokens=8"

Ended = collections.namedtuple("Ended", "code out err")

# Three branches that share a prefix. Answers and dice are drawn from the seed of the row.
DRAWS = """
return function(input)
  local ctx <close> = Context.new():system("Answer briefly."):user("Number " .. input.number)
  local answers = map(ctx:fork(3), function(fork)
    local answer = fork:generate{max_tokens = 8, temperature = 1.2}
    fork:release()
    return answer.text
  end)
  return {answers = answers, dice = {math.random(1000000), math.random()}}
end
"""


def row(custom_id, value, **more):
    return {"custom_id": custom_id, "input": value, **more}


def numbers(count):
    return [row(f"row-{i}", {"number": i}) for i in range(1, count + 1)]


def environment(folder):
    """Without settings of the machine."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("WINDROW_")}
    kept.update({"XDG_CONFIG_HOME": str(folder), "LC_ALL": "C.UTF-8"})
    return kept


class Programs(unittest.TestCase):
    """Each test has a folder for its programs, rows and results."""

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="windrow-programs-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def write(self, name, contents):
        path = self.folder / name
        if isinstance(contents, list):
            contents = "".join(json.dumps(line) + "\n" for line in contents)
        path.write_text(contents)
        return path

    def start(self, *words, **more):
        process = subprocess.Popen([PROGRAM, *map(str, words)], cwd=self.folder,
                                   env=environment(self.folder), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)
        self.addCleanup(end, process)
        return process

    def windrow(self, *words, **more):
        return ended(self.start(*words, **more))

    def once(self, program, value=None, *words, model=INSTANT, **more):
        """Runs a program once, without files."""
        self.write("once.lua", program)
        arg = [] if value is None else ["--arg", json.dumps(value)]
        models = ["--model", model] if model else []
        return self.windrow("exec", "once.lua", *arg, *models, *words, **more)

    def result_of(self, *words, **more):
        """What a command prints as the result of its one instance."""
        done = self.windrow("exec", *words, **more)
        self.assertEqual(done.code, 0, done)
        return json.loads(done.out)

    def lines(self, name):
        """The JSON of the lines of a file; a line that was cut by a kill is left out."""
        path = self.folder / name
        text = path.read_text() if path.exists() else ""
        return [json.loads(line) for line in text.split("\n")[:-1]]

    def results(self, name="results.jsonl"):
        """The results by row: every row is there once."""
        found = {}
        for line in self.lines(name):
            self.assertNotIn(line["custom_id"], found)
            found[line["custom_id"]] = line["response"]["body"]["result"]
        return found

    def failures(self, name="results.errors.jsonl"):
        """Codes by row."""
        return {line["custom_id"]: line["error"]["code"] for line in self.lines(name)}

    def message_of(self, custom_id, name="results.errors.jsonl"):
        (message,) = [line["error"]["message"] for line in self.lines(name)
                      if line["custom_id"] == custom_id]
        return message

    def check(self, done, code, *texts):
        self.assertEqual(done.code, code, done)
        for text in texts:
            self.assertIn(text, done.err)


def end(process):
    """What a failed test left behind."""
    if process.poll() is None:
        process.kill()
    process.wait()
    for stream in (process.stdout, process.stderr):
        stream.close()


def ended(process):
    try:
        out, err = process.communicate(timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        raise AssertionError(f"{process.args} did not end: {err.decode()}") from None
    return Ended(process.returncode, out.decode(), err.decode())


def wait_for(process, seconds):
    """At most; less if it has ended."""
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        pass


def wait_until(process, is_there):
    """Whether it is there; False: the process had ended before."""
    while not is_there():
        if process.poll() is not None:
            return is_there()
        threading.Event().wait(0.002)
    return True


class SimUpstream:
    """`windrow sim-upstream`: with SimUpstream(...) as server, which has .url"""

    def __init__(self, *words):
        self.words = words

    def __enter__(self):
        port = [] if "--port" in self.words else ["--port", "0"]
        self.process = subprocess.Popen([PROGRAM, "sim-upstream", *port, *map(str, self.words)],
                                        env=environment(tempfile.gettempdir()),
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)
        self.url = self.process.stdout.readline().strip()
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()
