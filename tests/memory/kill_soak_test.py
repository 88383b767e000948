"""A bank survives: `windrow memory` is killed (SIGKILL) at drawn moments, again and again, and the
run that gets to its end leaves what an undisturbed one would. Between the kills nothing that was
done is lost, and nothing is done twice.

WINDROW_SOAK=1 kills five times as often; WINDROW_SEED repeats a failure.
"""

import os
import random
import unittest

from bank_program import (SOAK, Folder, Moment, faults_of_bank, flags_of, kill_at,
                          observations_of)
from model_server import CHAT, EMBED, ModelServer
from story import Story, write_lines

KILLS = 30 * (5 if SOAK else 1)
SEED = int(os.environ.get("WINDROW_SEED", "1"))


class Kills(unittest.TestCase):
    def setUp(self):
        self.random = random.Random(SEED)
        self.folder = self.enterContext(Folder())
        self.server = self.enterContext(ModelServer(delay_s=0.004))
        self.bank = self.folder.path / "kills.bank"

    def check_between(self, story, before):
        """What must hold at any time of a bank; returns what is shown of it."""
        shown = self.folder.show(self.bank)
        stats = shown["stats"]
        self.assertEqual(stats["nodes_by_fact_type"]["world"], len(story.items))
        self.assertEqual(stats["failed_consolidation"], 0)
        now = observations_of(shown)
        expected = story.expected()
        for key, (text, proofs) in now.items():
            self.assertIn(text, expected[key].facts)
            self.assertLessEqual(proofs, len(expected[key].facts), key)
        # A pass of a fact is noted with its effect, so observations have each one that was done.
        left = story.passes() - sum(proofs for _, proofs in now.values())
        pending = stats["pending_consolidation"]
        self.assertTrue(pending <= left <= 2 * pending, f"{left} passes left, {pending} pending")
        for key, (_, proofs) in before.items():
            self.assertIn(key, now)
            self.assertGreaterEqual(now[key][1], proofs, key)
        return now, pending

    def test_consolidation_that_is_killed_at_any_moment(self):
        story = Story(self.random)
        flags = flags_of(self.server)
        kills, pending, before = 0, 0, {}
        while kills < KILLS:
            if pending == 0:
                part = write_lines(self.folder.path / "part.jsonl", story.more(300))
                retained = self.folder.memory("retain", self.bank, part, *flags)
                self.assertEqual(retained.code, 0, retained)
            moment = Moment(self.server, CHAT, self.random.randint(0, 8))
            process = self.folder.start("memory", "consolidate", self.bank, *flags)
            kills += kill_at(process, moment, self.random.choice((0, 0.03)) * self.random.random())
            process.communicate()
            before, pending = self.check_between(story, before)
        last = self.folder.memory("consolidate", self.bank, *flags)
        self.assertEqual(last.code, 0, last)
        self.check_between(story, before)
        self.assertEqual(faults_of_bank(self.bank, story), [])
        again = self.folder.memory("consolidate", self.bank, *flags)
        self.assertEqual(again.code, 0, again)
        self.assertIn("there is no fact to consolidate", again.err)
        self.assertNotIn("wall time", again.err)

    def test_retain_that_is_killed_stores_the_first_lines_and_no_part_of_others(self):
        items = Story(self.random).more(1000)
        lines = write_lines(self.folder.path / "facts.jsonl", items)
        in_part = 0
        for number in range(KILLS // 10):
            bank = self.folder.path / f"retain {number}.bank"
            moment = Moment(self.server, EMBED, self.random.randint(1, 12))
            process = self.folder.start("memory", "retain", bank, lines, *flags_of(self.server))
            kill_at(process, moment, 0.05 * self.random.random())
            process.communicate()
            if not bank.exists():
                continue  # killed before
            stored = self.folder.show(bank)["stats"]["nodes_by_fact_type"]["world"]
            in_part += 0 < stored < len(items)
            story = Story(self.random)
            story.items = items[:stored]
            done = self.folder.memory("consolidate", bank, *flags_of(
                self.server, consolidation_llm_batch_size=50))
            self.assertEqual(done.code, 0, done)
            self.assertEqual(faults_of_bank(bank, story), [])
        self.assertGreater(in_part, 0, "no kill came in the middle")


if __name__ == "__main__":
    print(f"seed {SEED}")
    unittest.main(verbosity=2)
