"""Who may use a session, and how much: keys, and every limit with its status and what to do."""

import json
import threading
import unittest

from reference_test import QUESTION, WithUpstream
from session_program import Conversation, tool, user, wait_until
from sglang_server import CHAT, Said, completion


class Keys(WithUpstream):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.file = cls.folder.path / "keys.json"
        cls.keys = {}
        for name, *more in (("trainer",), ("other",), ("boss", "--admin")):
            added = cls.folder.run("keys", "add", cls.file, name, *more)
            if added.code != 0:
                raise AssertionError(added)
            cls.keys[name] = added.out.split()[-1]
        cls.server.stop()
        cls.server = cls.start("--api-keys", cls.file)

    def bearer(self, key):
        return {"Authorization": f"Bearer {key}"}

    def of(self, session, key):
        """The session as the holder of another key uses it."""
        return Conversation(self.server, session.id, session.key, self.bearer(key))

    def created(self):
        return self.server.session(headers=self.bearer(self.keys["trainer"]))

    def test_no_key_creates_nothing(self):
        for headers in ({}, self.bearer("sk-wrong")):
            self.assertEqual(self.server.ask("POST", "/sessions", {}, headers).status, 401)
            self.assertEqual(self.server.ask("GET", "/sessions", None, headers).status, 401)

    def test_the_key_of_the_session_opens_it_alone(self):
        session, another = self.created(), self.created()
        agent = self.of(session, session.key)
        agent.say(QUESTION)
        self.assertEqual(len(agent.show()["records"]), 1)
        agent.samples()
        for path, status in ((another.path, 401), ("/sessions", 401)):
            reply = self.server.ask("GET", path, None, agent.headers)
            self.assertEqual(reply.status, status, reply)
        self.assertEqual(self.of(another, session.key).chat([QUESTION]).status, 401)
        self.assertEqual(self.server.ask("POST", "/sessions", {}, agent.headers).status, 401)
        self.assertEqual(self.server.ask("POST", CHAT, {"model": "chat", "messages": [QUESTION]},
                                         agent.headers).status, 401)
        self.assertEqual(agent.delete().status, 204)

    def test_owners_and_admins(self):
        session = self.created()
        session.say(QUESTION)
        for name, status in (("trainer", 200), ("boss", 200), ("other", 401)):
            one = self.of(session, self.keys[name])
            self.assertEqual(self.server.ask("GET", session.path, None, one.headers).status, status)
            self.assertEqual(one.chat([QUESTION]).status, status)
            listed = self.server.ask("GET", "/sessions", None, one.headers).json["sessions"]
            self.assertEqual(session.id in [view["id"] for view in listed], status == 200)
        refused = self.of(session, self.keys["other"])
        reply = refused.delete()
        self.assertEqual(reply.status, 401)
        self.assertIn("the key that came with it", reply.error)
        self.assertEqual(session.delete().status, 204)

    def test_no_key_of_this_server_reaches_the_upstream(self):
        session = self.created()
        self.upstream.reset()
        self.of(session, session.key).say(QUESTION)
        secrets = (session.key, *self.keys.values())
        for call in self.upstream.calls:
            text = json.dumps(call.headers) + call.body.decode()
            for secret in secrets:
                self.assertNotIn(secret, text)

    def test_a_session_key_in_x_api_key(self):
        session = self.created()
        reply = self.server.ask("POST", f"{session.path}{CHAT}", {
            "model": "chat", "messages": [QUESTION]}, {"x-api-key": session.key})
        self.assertEqual(reply.status, 200, reply)


class Limits(WithUpstream):
    MORE_FLAGS = ("--sessions-max", "4", "--session-turns-max", "3", "--session-mb-max", "1",
                  "--session-body-mb", "1", "--session-idle-s", "600")

    def setUp(self):
        super().setUp()
        for view in self.server.ask("GET", "/sessions").json["sessions"]:
            self.server.ask("DELETE", f"/sessions/{view['id']}")

    def test_too_many_sessions(self):
        made = [self.server.session() for _ in range(4)]
        self.check_error(self.server.ask("POST", "/sessions"), 429, "--sessions-max", "4")
        self.assertEqual(made[0].delete().status, 204)
        self.server.session()

    def test_too_many_turns(self):
        session = self.begun(3)
        reply = session.chat([*session.messages, tool("r")])
        self.check_error(reply, 409, "has 3 turns", "--session-turns-max")
        self.assertEqual(len(session.records), 3)
        # The last one may still be asked again.
        self.assertEqual(session.chat(session.messages[:-1]).status, 200)
        tree = self.begun(3, history="tree")
        self.check_error(tree.chat([user("a new branch")]), 409, "--session-turns-max")

    def test_a_large_body(self):
        session = self.server.session()
        reply = session.chat([user("x" * (1 << 20))])
        self.check_error(reply, 413, "1 MiB", "--session-body-mb")
        self.assertEqual(self.upstream.turns(), [])
        session.say(user("x" * 1000))

    def test_a_full_session(self):
        session = self.server.session()
        session.say(user("word " * 180_000), max_tokens=4)
        reply = session.chat([*session.messages, tool("x")])
        self.check_error(reply, 507, "--session-mb-max")
        self.assertEqual(len(session.records), 1)
        self.server.session().say(QUESTION)  # another one has room


class Idle(WithUpstream):
    MORE_FLAGS = ("--session-idle-s", "1")

    def test_an_unused_session_is_gone_and_a_used_one_stays(self):
        unused, used = self.begun(1), self.server.session()
        released = self.upstream.hold()
        turn = threading.Thread(target=lambda: used.say(QUESTION))
        turn.start()  # in flight all the time
        wait_until(lambda: self.server.ask("GET", unused.path).status == 410, "it has expired")
        self.check_error(self.server.ask("GET", unused.path), 410,
                         f"session reclaimed: session_id={unused.id}", "1.0 s", "--session-idle-s")
        self.check_error(unused.chat([QUESTION]), 410)
        self.check_error(unused.delete(), 410)
        released.set()
        turn.join()
        self.assertEqual(len(used.messages), 2)
        wait_until(lambda: self.server.metric("windrow_sessions") == 0, "both have expired")
        self.assertEqual(self.server.metric('windrow_sessions_total{event="expired"}'), 2)


class Counted(WithUpstream):
    def test_metrics(self):
        session = self.begun(2)
        session.chat(session.messages[:-1])  # a rollback
        self.upstream.script = lambda call: Said({"error": "x"}, 400)
        session.chat([*session.messages, tool("r")])
        self.upstream.script = lambda call: Said(completion(call))
        session.samples()
        session.delete()
        for name, value in (
                ("windrow_sessions", 0), ("windrow_sessions_bytes", 0),
                ("windrow_sessions_turns_in_flight", 0),
                ('windrow_sessions_total{event="created"}', 1),
                ('windrow_sessions_total{event="deleted"}', 1),
                ('windrow_sessions_turns_total{result="committed"}', 3),
                ('windrow_sessions_turns_total{result="failed"}', 1),
                ("windrow_sessions_rollbacks_total", 1)):
            self.assertEqual(self.server.metric(name), value, name)


if __name__ == "__main__":
    unittest.main(verbosity=2)
