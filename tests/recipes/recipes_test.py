"""Every block of docs/getting-started.md and docs/recipes.md runs as it stands and prints what the
text shows; a block that is not run says why."""

import csv
import json
import os
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree
from pathlib import Path

from document import Block, blocks_of, is_run, missing_line, run, sections_of

PROGRAM = os.environ["WINDROW_PROGRAM"]
REPOSITORY = Path(os.environ["WINDROW_SOURCE"])
DOCUMENTS = ("getting-started.md", "recipes.md")
# Blocks that are only shown, besides those of `text` and `json`.
SHOWN = ("text", "json", "toml", "")


class Documents(unittest.TestCase):
    def test_every_block_runs_and_prints_what_is_shown(self):
        for name in DOCUMENTS:
            for section in sections_of(REPOSITORY / "docs" / name):
                with self.subTest(f"{name}: {section.name}"), \
                        tempfile.TemporaryDirectory(prefix="windrow-recipes-") as folder:
                    self.check(section, folder)

    def check(self, section, folder):
        code, printed = run(section, folder, PROGRAM, REPOSITORY)
        self.assertEqual(code, 0, printed)
        last = None
        for block in section.blocks:
            if is_run(block):
                last = block
                self.assertIn(block.line, printed)
            elif block.prints:
                self.assertIsNotNone(last, f"line {block.line} shows an output of no block")
                line = missing_line(printed[last.line], block.text)
                self.assertIsNone(line, f"line {block.line} is not what the block printed: "
                                  f"{printed[last.line]}")
            elif not block.file and not block.not_run:
                self.assertIn(block.language, SHOWN, f"line {block.line}: run it, or say why not")

    def test_each_document_has_blocks_that_run(self):
        for name in DOCUMENTS:
            for section in sections_of(REPOSITORY / "docs" / name):
                with self.subTest(f"{name}: {section.name}"):
                    self.assertTrue(any(is_run(block) or block.not_run
                                        for block in section.blocks))


class Reader(unittest.TestCase):
    """What is told of blocks is understood, and what was not printed is found."""

    TEXT = ("a\n\n<!-- file: x.py -->\n```python\n1\n```\n\nb\n```bash\necho 2\n```\n"
            "<!-- prints -->\n```text\n2\n```\n\n<!-- not run: no network -->\n```bash\nf\n```\n")

    def test_notes(self):
        self.assertEqual(blocks_of(self.TEXT, 1), [
            Block("python", "1\n", 4, "x.py", False, None),
            Block("bash", "echo 2\n", 9, None, False, None),
            Block("text", "2\n", 13, None, True, None),
            Block("bash", "f\n", 18, None, False, "no network")])

    def test_missing_line(self):
        printed = "one 1\ntwo 22 tokens\nthree\n"
        self.assertIsNone(missing_line(printed, "one ...\n...\nthree\n"))
        self.assertIsNone(missing_line(printed, "two ... tokens\n"))
        self.assertEqual(missing_line(printed, "three\none 1\n"), "one 1")
        self.assertEqual(missing_line(printed, "two ... bytes\n"), "two ... bytes")


class Examples(unittest.TestCase):
    def test_the_table_of_candidates_is_the_beginning_of_the_requests(self):
        with open(REPOSITORY / "examples/candidates.csv", newline="", encoding="utf-8") as file:
            table = list(csv.DictReader(file))
        system = (REPOSITORY / "examples/screening.jinja").read_text(encoding="utf-8").rstrip("\n")
        with open(REPOSITORY / "examples/candidates.jsonl", encoding="utf-8") as file:
            for row, line in zip(table, file):
                request = json.loads(line)
                self.assertEqual(row["id"], request["custom_id"])
                self.assertEqual(request["body"]["messages"], [
                    {"role": "system", "content": system},
                    {"role": "user", "content": row["position"] + "\n\n" + row["profile"]}])
        self.assertEqual(len(table), 24)


class Pictures(unittest.TestCase):
    def test_the_picture_of_a_run_can_be_made(self):
        with tempfile.TemporaryDirectory(prefix="windrow-picture-") as folder:
            picture = Path(folder, "run.svg")
            subprocess.run([sys.executable, "-B", REPOSITORY / "docs/pictures/make.py", "--windrow",
                            PROGRAM, "--model", "sim:instant,answer-tokens=8", "-o", picture],
                           check=True, cwd=folder, timeout=60)
            texts = ["".join(text.itertext()) for text in
                     xml.etree.ElementTree.parse(picture).getroot().iter() if
                     text.tag.endswith("text")]
            whole = "\n".join(texts)
            self.assertIn("$ windrow run", whole)
            self.assertIn("2,000 succeeded, 0 failed", whole)


if __name__ == "__main__":
    unittest.main(verbosity=2)
