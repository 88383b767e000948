"""`windrow memory` as a process, on bank files in a folder of its own."""

import collections
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import threading
from pathlib import Path

from model_server import CHAT, EMBED

PROGRAM = os.environ["WINDROW_PROGRAM"]
LIMIT_S = 120  # a command that has not ended by then never will

# What `./test --full` asks for.
SOAK = "WINDROW_SOAK" in os.environ

Ended = collections.namedtuple("Ended", "code out err")


def environment(folder):
    """Without settings of the machine."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("WINDROW_")}
    kept.update({"XDG_CONFIG_HOME": str(folder), "LC_ALL": "C.UTF-8"})
    return kept


class Folder:
    """A folder for bank files and inputs: `with Folder() as folder`."""

    def __enter__(self):
        self.path = Path(tempfile.mkdtemp(prefix="windrow-memory-"))
        self.started = []
        return self

    def __exit__(self, *_):
        for process in self.started:  # what a failed test left behind
            if process.poll() is None:
                process.kill()
                process.wait()
        shutil.rmtree(self.path)

    def start(self, *words, **more):
        process = subprocess.Popen([PROGRAM, *map(str, words)], cwd=self.path,
                                   env=environment(self.path), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)
        self.started.append(process)
        return process

    def memory(self, *words, **more):
        """Runs `windrow memory WORDS` to its end."""
        return ended(self.start("memory", *words, **more))

    def show(self, bank):
        shown = self.memory("show", bank, "--json")
        if shown.code != 0:
            raise AssertionError(f"show ended with {shown}")
        return json.loads(shown.out)


def ended(process):
    try:
        out, err = process.communicate(timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        raise AssertionError(f"{process.args} did not end: {err.decode()}") from None
    return Ended(process.returncode, out.decode(), err.decode())


class Moment:
    """The n-th question of a kind to `server` from now on; the 0-th is now. With `holds` that one
    and all after it get no answer until `server.answering` is set."""

    def __init__(self, server, kind, number, holds=False):
        self.server, self.kind, self.left, self.holds = server, kind, number, holds
        self.lock = threading.Lock()
        self.come = threading.Event()
        server.on_call = self.count
        if number == 0:
            self.come.set()

    def count(self, call):
        with self.lock:
            self.left -= call.kind == self.kind
            if self.left == 0 and self.holds and not self.come.is_set():
                self.server.answering.clear()
            if self.left <= 0:
                self.come.set()


def kill_at(process, moment, after_s):
    """Kills the process this long after the moment. False: it had ended by itself."""
    watch = threading.Thread(target=lambda: (process.wait(), moment.come.set()))
    watch.start()
    moment.come.wait(LIMIT_S)
    threading.Event().wait(after_s)
    has_ended = process.poll() is not None
    if not has_ended:
        process.kill()
    watch.join()
    return not has_ended


def killed(process):
    process.send_signal(signal.SIGKILL)
    process.communicate()


def flags_of(server, **config):
    """Flags for the models of `server`; settings of banks as they are named."""
    flags = ["--upstream", server.url, "--memory-model", CHAT, "--memory-embed", EMBED]
    settings = {"retain_extraction_mode": "verbatim", "consolidation_llm_batch_size": 2,
                "consolidation_llm_parallelism": 4, **config}
    for name, value in settings.items():
        flags += ["--memory-set", f"{name}={value}"]
    return flags


def observations_of(shown):
    """(text, proof count) by (scope, topic) of what `show --json` printed."""
    found = {}
    for observation in shown["observations"]:
        key = tuple(sorted(observation["tags"])), observation["text"].split(":")[0]
        if key in found:
            raise AssertionError(f"two observations of {key}: {found[key]}, {observation['text']}")
        found[key] = observation["text"], observation["proof_count"]
    return found


def faults_of_bank(path, story):
    """What is wrong with a bank in which all of the story is consolidated: lines."""
    found = []
    with sqlite3.connect(path) as bank:
        def rows(sql):
            return bank.execute(sql).fetchall()

        for table in rows("PRAGMA integrity_check"):
            if table != ("ok",):
                found.append(f"integrity_check: {table}")
        facts = [text for (text,) in rows("SELECT text FROM memories WHERE type < 2 ORDER BY row")]
        if facts != [item["content"] for item in story.items]:
            found.append(f"{len(facts)} facts, and not as they were told")
        for text, failure in rows("SELECT text, failure FROM memories WHERE type < 2 "
                                  "AND (consolidated IS NULL OR failed IS NOT NULL)"):
            found.append(f"{text} has no stamp, or a failed marker: {failure}")
        ((passes,),) = rows("SELECT COUNT(*) FROM passes")
        if passes != story.passes():
            found.append(f"{passes} passes, not {story.passes()}")
        observations = {}
        for row, text, tags in rows("SELECT m.row, m.text, t.tags FROM memories AS m "
                                    "JOIN tag_sets AS t ON t.id = m.tag_set WHERE m.type = 2"):
            key = tuple(sorted(json.loads(tags))), text.split(":")[0]
            if key in observations:
                found.append(f"two observations of {key}")
            observations[key] = text, [fact for (fact,) in rows(
                "SELECT f.text FROM sources AS s JOIN memories AS f ON f.row = s.fact "
                f"WHERE s.observation = {row} ORDER BY f.row")]
    bank.close()
    expected = story.expected()
    for key in sorted(set(expected) | set(observations)):
        text, sources = observations.get(key, (None, []))
        wanted = expected.get(key)
        if wanted is None or (text, sources) != (wanted.text, wanted.facts):
            found.append(f"{key}: {text!r} of {sources}, not {wanted}")
    return found
