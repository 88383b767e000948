"""What the trainers' reference server promises of sessions at the same time: turns of one session
all reach the model and one is kept, sessions do not wait for each other, and a delete comes at any
moment. Cases of its tests, in our words; the upstream answers when the test says so."""

import json
import unittest

from reference_test import QUESTION, WithUpstream
from session_program import LIMIT_S, all_of, tool, user
from sglang_server import Said, answer, completion

TIMES = 20


class Races(WithUpstream):
    MORE_FLAGS = ("--concurrency", "16")

    def arrived(self, count=1):
        """Until so many chats have reached the upstream."""
        for _ in range(count):
            self.assertTrue(self.upstream.arrived.acquire(timeout=LIMIT_S))

    def held(self, *tasks):
        """Results of tasks whose chats are all at the upstream before one is answered."""
        released = self.upstream.hold()

        def release():
            self.arrived(len(tasks))
            released.set()
        return all_of(*tasks, release)[:-1]

    def test_the_same_turn_at_the_same_time_is_answered_each_time_and_kept_once(self):
        session = self.begun(1)
        self.arrived()
        again = [*session.messages, {"role": "system", "content": "go on"}]
        replies = self.held(*[lambda: session.chat(again)] * 4)
        self.assertEqual([reply.status for reply in replies], [200] * 4)
        self.assertEqual(len(self.upstream.turns()), 5)
        self.assertEqual(len(session.records), 2)
        kept = session.records[-1]["response"]["id"]
        self.assertIn(kept, [reply.json["id"] for reply in replies])
        tokens = session.metadata["accumulated_token_ids"]
        winner = next(call for call in self.upstream.calls if f"chatcmpl-{call.number:08x}" == kept)
        self.assertEqual(tokens[:-3], winner.json["input_ids"])

    def test_in_a_tree_all_are_kept(self):
        session = self.begun(1, history="tree", retries="keep_all")
        self.arrived()
        again = [*session.messages, tool("r")]
        replies = self.held(*[lambda: session.chat(again)] * 3)
        self.assertEqual([reply.status for reply in replies], [200] * 3)
        nodes = session.metadata["tree"]["nodes"]
        self.assertEqual([node["parent"] for node in nodes], [None, 0, 0, 0])
        self.assertEqual(sorted(node["response_id"] for node in nodes[1:]),
                         sorted(reply.json["id"] for reply in replies))

    def test_sessions_do_not_wait_for_each_other(self):
        sessions = [self.server.session() for _ in range(8)]
        for turn in range(3):
            self.held(*[lambda one=one: one.say(user(f"turn {turn}")) for one in sessions])
        self.assertGreaterEqual(self.upstream.at_once_max, 8)
        self.assertEqual(len(self.upstream.turns()), 24)
        for session in sessions:
            records = session.records
            self.assertEqual(len(records), 3)
            for earlier, later in zip(records, records[1:]):
                begin = earlier["request"]["input_ids"]
                self.assertEqual(later["request"]["input_ids"][:len(begin)], begin)
        tokens = {json.dumps(session.metadata["accumulated_token_ids"]) for session in sessions}
        self.assertEqual(len(tokens), 8)

    def test_a_delete_during_a_turn_stops_it(self):
        # The reference lets the model go on and answers 200; so is ours with orphans = commit.
        for orphans, status in (("stop", 404), ("commit", 200)):
            with self.subTest(orphans):
                self.upstream.reset()
                session = self.server.session({"orphans": orphans})
                released = self.upstream.hold()

                def delete():
                    self.arrived()
                    try:
                        return session.delete()
                    finally:
                        if orphans == "commit":
                            released.set()
                turn, deleted = all_of(lambda: session.chat([QUESTION]), delete)
                released.set()
                self.assertEqual(deleted.status, 204)
                self.assertEqual(turn.status, status, turn)
                if status == 404:
                    self.check_error(turn, 404, f"session_id={session.id}")
                self.check_error(session.chat([QUESTION]), 404, "(deleted)")
                self.check_error(self.server.ask("GET", session.path), 404)

    def test_turns_behind_a_delete_are_refused(self):
        session = self.server.session({"orphans": "commit"})
        released = self.upstream.hold()

        def delete_and_ask():
            self.arrived()
            deleted = session.delete()
            refused = session.chat([QUESTION])
            released.set()
            return deleted, refused
        turn, (deleted, refused) = all_of(lambda: session.chat([QUESTION]), delete_and_ask)
        self.assertEqual((turn.status, deleted.status, refused.status), (200, 204, 404))
        self.assertEqual(len(self.upstream.turns()), 1)

    def test_of_two_deletes_one_succeeds(self):
        for _ in range(TIMES):
            session = self.server.session()
            replies = all_of(session.delete, session.delete)
            self.assertEqual(sorted(reply.status for reply in replies), [204, 404])

    def test_turns_and_a_delete_at_the_same_time(self):
        for _ in range(TIMES):
            session = self.server.session()
            *turns, deleted = all_of(*[lambda: session.chat([QUESTION])] * 3, session.delete)
            self.assertEqual(deleted.status, 204)
            for turn in turns:
                self.assertIn(turn.status, (200, 404), turn)
            self.check_error(self.server.ask("GET", session.path), 404)

    def test_many_short_lives(self):
        for _ in range(TIMES):
            session = self.begun(1)
            self.assertEqual(session.delete().status, 204)
            self.assertEqual(self.server.ask("GET", session.path).status, 404)
        self.assertEqual(self.server.metric("windrow_sessions_turns_in_flight"), 0)

    def test_a_long_answer_delays_no_other_session(self):
        slow, quick = self.server.session(), self.server.session()
        released = self.upstream.released

        def script(call):
            if call.json["messages"][0]["content"] == "slow":
                released.wait()
            return answer(call)
        self.upstream.script = script

        def go_on():
            self.arrived()
            quick.say(QUESTION)
            quick.say(tool("r"))
            released.set()
        all_of(lambda: slow.say(user("slow")), go_on)
        self.assertEqual((len(slow.records), len(quick.records)), (1, 2))

    def test_a_failure_beside_an_answer(self):
        # Two retries at the same time; the one that fails takes nothing away.
        session = self.begun(1)
        self.arrived()
        released = self.upstream.released

        def script(call):
            released.wait()
            bad = call.json["messages"][-1]["content"] == "bad"
            return Said({"error": "no"}, 400) if bad else Said(completion(call))
        self.upstream.script = script

        def release():
            self.arrived(2)
            released.set()
        good, bad, _ = all_of(lambda: session.chat([*session.messages, tool("good")]),
                              lambda: session.chat([*session.messages, tool("bad")]), release)
        self.assertEqual((good.status, bad.status), (200, 400))
        self.assertEqual([record["request"]["messages"][-1]["content"]
                          for record in session.records], [QUESTION["content"], "good"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
