"""A bank of a server survives: `windrow serve` is killed (SIGKILL) at drawn moments while facts
come in and are consolidated by themselves, and started again. What was answered is there, nothing
is done twice, and operations of a server that died are taken over.

WINDROW_SOAK=1 kills five times as often; WINDROW_SEED repeats a failure.
"""

import http.client
import json
import os
import random
import signal
import sqlite3
import threading
import time
import unittest
from urllib.parse import quote, urlsplit

from bank_program import LIMIT_S, SOAK, Folder, Moment, faults_of_bank, flags_of, kill_at
from model_server import CHAT, ModelServer
from story import Story

KILLS = 10 * (5 if SOAK else 1)
SEED = int(os.environ.get("WINDROW_SEED", "1"))
BANK = "kills 東京"
PATH = "/v1/default/banks/" + quote(BANK)


class Server:
    """`windrow serve` from its start until it is ready, and questions to it."""

    def __init__(self, folder, models):
        self.process = folder.start("serve", "--listen", "127.0.0.1:0", "--json", "--data-dir",
                                    "data", *flags_of(models))
        self.said = b""
        self.url = None
        for line in self.process.stdout:
            self.said += line
            event = json.loads(line)
            self.url = self.url or event.get("url")
            if event.get("event") == "ready":
                break
        else:
            raise AssertionError(f"the server ended: {self.process.stderr.read().decode()}")
        self.readers = [threading.Thread(target=self.drain, args=(pipe,))
                        for pipe in (self.process.stdout, self.process.stderr)]
        for reader in self.readers:
            reader.start()

    @staticmethod
    def drain(pipe):
        with pipe:
            pipe.read()

    def wait(self):
        code = self.process.wait(LIMIT_S)
        for reader in self.readers:
            reader.join()
        return code

    def ask(self, method, path, body=None):
        connection = http.client.HTTPConnection(urlsplit(self.url).netloc, timeout=LIMIT_S)
        try:
            connection.request(method, PATH + path, json.dumps(body) if body else None,
                               {"Content-Type": "application/json"})
            reply = connection.getresponse()
            text = reply.read().decode()
        finally:
            connection.close()
        if reply.status != 200:
            raise AssertionError(f"{method} {path}: {reply.status} {text}")
        return json.loads(text)

    def stats(self):
        return self.ask("GET", "/stats")

    def wait_until_done(self, limit_s=LIMIT_S):
        """Until nothing is left to consolidate."""
        end = time.monotonic() + limit_s
        while True:
            stats = self.stats()
            busy = sum(count for status, count in stats["operations_by_status"].items()
                       if status in ("pending", "processing"))
            if busy + stats["pending_consolidation"] == 0:
                return stats
            if time.monotonic() > end:
                raise AssertionError(f"not done after {limit_s} s: {stats}")
            threading.Event().wait(0.05)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.wait()


class ServeKills(unittest.TestCase):
    def setUp(self):
        self.random = random.Random(SEED)
        self.folder = self.enterContext(Folder())
        self.models = self.enterContext(ModelServer(delay_s=0.004))
        self.file = self.folder.path / "data" / "memory" / f"{quote(BANK)}.bank"

    def rows(self, sql):
        with sqlite3.connect(self.file) as bank:
            found = bank.execute(sql).fetchall()
        bank.close()
        return found

    def tell(self, server, story, parts):
        """Tells facts until the server is gone: those of the request that got no answer."""
        for _ in range(parts):
            items = story.more(10)
            try:
                server.ask("POST", "/memories", {"items": items})
            except (http.client.HTTPException, ConnectionError):
                return items
        return []

    def check_told(self, server, story, doubtful):
        """A request that got no answer is stored whole, or not at all; then it is sent again."""
        there = server.stats()["nodes_by_fact_type"]["world"]
        self.assertIn(there, (len(story.items), len(story.items) - len(doubtful)))
        if there < len(story.items):
            server.ask("POST", "/memories", {"items": doubtful})

    def check_end(self, server, story):
        stats = server.wait_until_done()
        self.assertEqual((stats["failed_operations"], stats["failed_consolidation"]), (0, 0), stats)
        self.assertEqual(server.stop(), 0)
        self.assertEqual(faults_of_bank(self.file, story), [])

    def test_a_server_that_is_killed_at_any_moment(self):
        story, kills, doubtful = Story(self.random), 0, []
        while kills < KILLS:
            server = Server(self.folder, self.models)
            if story.items:
                self.check_told(server, story, doubtful)
            moment = Moment(self.models, CHAT, self.random.randint(0, 5))
            after_s = self.random.choice((0, 0.1)) * self.random.random()
            killer = threading.Thread(target=kill_at, args=(server.process, moment, after_s))
            killer.start()
            doubtful = self.tell(server, story, 3)
            killer.join()
            server.wait()
            kills += 1
        server = Server(self.folder, self.models)
        self.check_told(server, story, doubtful)
        self.check_end(server, story)

    def test_an_operation_of_a_killed_server_is_taken_over(self):
        story = Story(self.random)
        moment = Moment(self.models, CHAT, 1, holds=True)
        server = Server(self.folder, self.models)
        self.tell(server, story, 1)
        self.assertTrue(kill_at(server.process, moment, 0))
        server.wait()
        self.models.answering.set()
        (orphan,) = self.rows("SELECT id, type FROM operations WHERE status = 'processing'")
        self.assertEqual(orphan[1], "consolidation")
        server = Server(self.folder, self.models)
        server.wait_until_done()
        self.assertEqual(server.ask("GET", f"/operations/{orphan[0]}")["status"], "completed")
        self.check_end(server, story)

    def test_a_server_that_is_stopped_hands_its_operation_to_the_next(self):
        story = Story(self.random)
        moment = Moment(self.models, CHAT, 1, holds=True)
        server = Server(self.folder, self.models)
        self.tell(server, story, 1)
        moment.come.wait(LIMIT_S)
        self.assertEqual(server.stop(), 0)
        self.models.answering.set()
        self.assertEqual(self.rows("SELECT status FROM operations"), [("pending",)])
        self.check_end(Server(self.folder, self.models), story)


if __name__ == "__main__":
    print(f"seed {SEED}")
    unittest.main(verbosity=2)
