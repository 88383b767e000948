"""A bank with the models of the repository in the process itself: one that chats, and beside it one
that embeds, of which neither has a name."""

import os
import unittest
from pathlib import Path

from bank_program import Folder

MODELS = Path(os.environ["WINDROW_DEMO_MODELS"])
CHAT, EMBED = MODELS / "windrow-demo.gguf", MODELS / "windrow-embed.gguf"


class Models(unittest.TestCase):
    def test_retain_consolidate_and_recall_with_two_models(self):
        with Folder() as folder:
            facts = folder.path / "facts.txt"
            facts.write_text("Alice Miller lives in Oslo.\nAlice Miller plays the violin.\n")
            told = folder.memory("retain", "a.bank", facts, "--embed", EMBED, "--tag", "alice",
                                 "--memory-set", "retain_extraction_mode=verbatim")
            self.assertEqual(told.code, 0, told)
            done = folder.memory("consolidate", "a.bank", "--model", CHAT, "--embed", EMBED,
                                 "--memory-set", "prompt_profile=demo")
            self.assertEqual(done.code, 0, done)
            shown = folder.show("a.bank")
            self.assertEqual(shown["stats"]["pending_consolidation"], 0, shown)
            found = folder.memory("recall", "a.bank", "Where does Alice Miller live?",
                                  "--embed", EMBED)
            self.assertEqual(found.code, 0, found)
            self.assertIn("Oslo", found.out.splitlines()[0])


if __name__ == "__main__":
    unittest.main()
