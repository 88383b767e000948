"""Faults of a model server during `windrow memory consolidate`: they cost no fact, and in the end
the bank is what it would be without them."""

import random
import unittest

from bank_program import Folder, faults_of_bank, flags_of
from model_server import (CHAT, CLOSED, CUT, EMBED, ERROR, NO_JSON, NO_RIGHT, RATE_LIMIT,
                          WRONG_FORM, ModelServer)
from story import Story, write_lines

FACTS = 60
RUNS_MAX = 30


class Faults(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(Folder())
        self.server = self.enterContext(ModelServer())
        self.bank = self.folder.path / "faults.bank"
        self.random = random.Random(1)
        self.story = Story(self.random)
        self.flags = flags_of(self.server, consolidation_llm_batch_size=4)
        part = write_lines(self.folder.path / "part.jsonl", self.story.more(FACTS))
        retained = self.folder.memory("retain", self.bank, part, *self.flags)
        self.assertEqual(retained.code, 0, retained)

    # One try of each call, so that a server that is lost is given up soon.
    ONE_TRY = ("--max-attempts", "1", "--memory-set", "consolidation_max_attempts=1",
               "--memory-set", "consolidation_llm_batch_size=1")

    def consolidate(self, *words):
        return self.folder.memory("consolidate", self.bank, *self.flags, *words)

    def check_done(self):
        self.assertEqual(faults_of_bank(self.bank, self.story), [])

    def fail_some(self, fault, kind=CHAT, each=4):
        """The first question, and every so many-th after it."""
        asked = [0]

        def choose(call):
            if call.kind != kind:
                return None
            asked[0] += 1
            return fault if asked[0] % each == 1 else None

        self.server.fault = choose

    def run_to_the_end(self):
        """Runs the command again until it succeeds, as it says one should."""
        for _ in range(RUNS_MAX):
            done = self.consolidate()
            stats = self.folder.show(self.bank)["stats"]
            self.assertEqual(stats["failed_consolidation"], 0, done)
            if done.code == 0:
                return
            self.assertEqual(done.code, 3, done)
            self.assertIn("the same command goes on with the rest", done.err)
        self.fail(f"{RUNS_MAX} runs were not enough: {done}")

    def test_errors_of_some_calls(self):
        for fault in (ERROR, CUT, CLOSED, NO_JSON, WRONG_FORM, RATE_LIMIT):
            with self.subTest(fault):
                part = write_lines(self.folder.path / "part.jsonl", self.story.more(20))
                self.folder.memory("retain", self.bank, part, *self.flags)
                self.fail_some(fault)
                self.run_to_the_end()
                self.check_done()

    def test_errors_of_embeddings(self):
        for fault in (ERROR, CUT, CLOSED, NO_JSON, RATE_LIMIT):
            with self.subTest(fault):
                self.fail_some(fault, EMBED)
                part = write_lines(self.folder.path / "part.jsonl", self.story.more(20))
                retained = self.folder.memory("retain", self.bank, part, *self.flags)
                self.assertEqual(retained.code, 0, retained)
                self.run_to_the_end()
                self.check_done()

    def check_refused(self, words):
        refused = self.folder.memory(*words, *self.flags, *self.ONE_TRY)
        self.assertEqual(refused.code, 3, refused)
        self.assertIn(self.server.url.removesuffix("/v1"), refused.err)

    def test_a_server_that_fails_always_marks_no_fact(self):
        for fault in (ERROR, CLOSED, NO_RIGHT):
            with self.subTest(fault):
                self.server.fault = lambda call, fault=fault: fault
                self.check_refused(("retain", self.bank, self.folder.path / "part.jsonl"))
                self.check_refused(("recall", self.bank, "topic1x1"))
                failed = self.consolidate(*self.ONE_TRY)
                self.assertEqual(failed.code, 3, failed)
                self.assertIn("the same command goes on with the rest", failed.err)
                stats = self.folder.show(self.bank)["stats"]
                self.assertEqual(stats["failed_consolidation"], 0, failed)
                self.assertEqual(stats["pending_consolidation"], len(self.story.items))
        self.server.fault = lambda call: None
        self.run_to_the_end()
        self.check_done()

    def test_a_fact_that_no_model_can_answer_is_marked_and_the_others_are_not(self):
        self.server.fault = lambda call: (
            WRONG_FORM if call.kind == CHAT and "hopeless: 1" in call.texts else None)
        lines = self.folder.path / "hopeless"
        lines.write_text("hopeless: 1\n")
        self.folder.memory("retain", self.bank, lines, *self.flags)
        done = self.consolidate()
        self.assertEqual(done.code, 1, done)
        stats = self.folder.show(self.bank)["stats"]
        self.assertEqual((stats["failed_consolidation"], stats["pending_consolidation"]), (1, 0))
        self.assertIn(f"1 of {FACTS + 1} facts could not be consolidated", done.err)


if __name__ == "__main__":
    unittest.main(verbosity=2)
