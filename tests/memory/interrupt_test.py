"""Ctrl-C during `windrow memory`, and a second command on a bank that is in use."""

import random
import signal
import unittest

from bank_program import LIMIT_S, Folder, Moment, ended, faults_of_bank, flags_of, killed
from model_server import CHAT, EMBED, ModelServer
from story import Story, write_lines


class HeldServer(unittest.TestCase):
    """A bank, and a server that can be made to answer no more."""

    def setUp(self):
        self.folder = self.enterContext(Folder())
        self.server = self.enterContext(ModelServer())
        self.bank = self.folder.path / "bank.bank"
        self.story = Story(random.Random(1))
        self.flags = flags_of(self.server)

    def retain(self, count):
        part = write_lines(self.folder.path / "part.jsonl", self.story.more(count))
        retained = self.folder.memory("retain", self.bank, part, *self.flags)
        self.assertEqual(retained.code, 0, retained)

    def start_and_hold(self, verb, kind, number, *words):
        """A command whose n-th question of a kind, and all after it, get no answer."""
        moment = Moment(self.server, kind, number, holds=True)
        process = self.folder.start("memory", verb, self.bank, *words, *self.flags)
        self.assertTrue(moment.come.wait(LIMIT_S), "the server was not asked")
        return process

    def release(self):
        self.server.answering.set()


class Interrupts(HeldServer):
    def test_consolidation_ends_at_once_and_the_same_command_goes_on(self):
        self.retain(60)
        process = self.start_and_hold("consolidate", CHAT, 9)
        process.send_signal(signal.SIGINT)
        stopped = ended(process)
        self.release()
        self.assertEqual(stopped.code, 130, stopped)
        self.assertIn("stopping", stopped.err)
        self.assertIn("the same command goes on with the rest", stopped.err)
        stats = self.folder.show(self.bank)["stats"]
        self.assertTrue(0 < stats["pending_consolidation"] < 60, stats)
        self.assertEqual(stats["failed_consolidation"], 0)
        asked = len(self.server.chats())
        rest = self.folder.memory("consolidate", self.bank, *self.flags)
        self.assertEqual(rest.code, 0, rest)
        self.assertEqual(faults_of_bank(self.bank, self.story), [])
        asked_again = sum(len(call.texts) for call in self.server.chats()[asked:])
        self.assertLessEqual(asked_again, 2 * stats["pending_consolidation"])

    def test_a_second_ctrl_c_and_a_hangup_lose_nothing(self):
        self.retain(60)
        for signals in ((signal.SIGINT, signal.SIGINT), (signal.SIGTERM,), (signal.SIGHUP,)):
            process = self.start_and_hold("consolidate", CHAT, 5)
            for sent in signals:
                process.send_signal(sent)
            stopped = ended(process)
            self.release()
            self.assertEqual(stopped.code, 130, stopped)
        rest = self.folder.memory("consolidate", self.bank, *self.flags)
        self.assertEqual(rest.code, 0, rest)
        self.assertEqual(faults_of_bank(self.bank, self.story), [])

    def test_retain_says_from_which_line_it_goes_on(self):
        items = self.story.more(300)
        lines = write_lines(self.folder.path / "facts.jsonl", items)
        process = self.start_and_hold("retain", EMBED, 3, lines)
        process.send_signal(signal.SIGINT)
        self.release()
        stopped = ended(process)
        self.assertEqual(stopped.code, 130, stopped)
        stored = self.folder.show(self.bank)["stats"]["nodes_by_fact_type"]["world"]
        self.assertTrue(0 < stored < 300, stored)
        self.assertIn(f"{stored} of 300 items are stored", stopped.err)
        self.assertIn(f"from line {stored + 1} on", stopped.err)
        write_lines(lines, items[stored:])
        rest = self.folder.memory("retain", self.bank, lines, *self.flags)
        self.assertEqual(rest.code, 0, rest)
        done = self.folder.memory("consolidate", self.bank, *self.flags)
        self.assertEqual(done.code, 0, done)
        self.assertEqual(faults_of_bank(self.bank, self.story), [])


class InUse(HeldServer):
    def test_a_second_command_is_refused_and_breaks_nothing(self):
        self.retain(60)
        process = self.start_and_hold("consolidate", CHAT, 5)
        for words in (("show", self.bank), ("recall", self.bank, "topic"),
                      ("consolidate", self.bank, *self.flags),
                      ("retain", self.bank, self.folder.path / "part.jsonl"),
                      ("show", self.folder.path / "." / "bank.bank")):
            refused = self.folder.memory(*words)
            self.assertEqual(refused.code, 2, refused)
            self.assertIn(f"process {process.pid}", refused.err)
            self.assertIn("wait until it ends, or stop it", refused.err)
        self.release()
        first = ended(process)
        self.assertEqual(first.code, 0, first)
        self.assertEqual(faults_of_bank(self.bank, self.story), [])

    def test_the_lock_of_a_killed_process_holds_nobody_up(self):
        self.retain(20)
        killed(self.start_and_hold("consolidate", CHAT, 2))
        self.release()
        rest = self.folder.memory("consolidate", self.bank, *self.flags)
        self.assertEqual(rest.code, 0, rest)
        self.assertEqual(faults_of_bank(self.bank, self.story), [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
