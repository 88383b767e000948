"""Every block of Lua in docs/programs.md runs with `windrow exec` on the demo model, and ends with
what the text says."""

import json
import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

PROGRAM = os.environ["WINDROW_PROGRAM"]
MODELS = Path(os.environ["WINDROW_DEMO_MODELS"])
DOCUMENT = Path(os.environ["WINDROW_DOCS"], "programs.md").read_text(encoding="utf-8")
LIMIT_S = 120  # a program that has not ended by then never will

BLOCKS = re.findall(r"^```lua\n(.*?)^```$", DOCUMENT, re.MULTILINE | re.DOTALL)
DIGITS = [5, 2, 6, 0, 1, 8, 1, 5, 9, 0, 8, 3, 0, 1, 6, 6, 4, 4, 7, 7, 1, 9, 2, 8]


def spaced(digits):
    return " ".join(map(str, digits))


def is_sorting_of(text, digits):
    return text == spaced(sorted(digits))


# By a piece of the block: its input, and what its result has to be.
EXPECTED = {
    "-- ask.lua": (
        "3 1 2 9 0 4 4 7",
        lambda result: result["sorted"] == "0 1 2 3 4 4 7 9" and result["tokens"] > 8),
    "return map(asked:fork(3)": (
        "3 1 2 9 0 4 4 7",
        lambda result: len(result) == 3 and all(re.fullmatch(r"[0-9 ]+", text) for text in result)),
    'return best(sorter, "Sort: " .. input, input)': (
        "3 1 2 9 0 4 4 7", lambda result: result == "0 1 2 3 4 4 7 9"),
    "-- sort_graph.lua": (
        {"digits": DIGITS},
        lambda result: result["errors"] == 0 and is_sorting_of(result["sorted"], DIGITS)),
    "local SCHEMA": ([63, 78, 57, 88], lambda result: result == 63 + 78 + 57 + 88),
    "ctx:select": (
        None,
        lambda result: result["chosen"] == ["1 2", "2 1"][result["index"] - 1]
        and result["mean"] < 0 and result["says"].endswith(result["chosen"])),
    "ctx:embed": (None, lambda result: result["near"] > result["far"]),
    "ctx:truncate": (
        None,
        lambda result: len(result[0]) > 0 and result[2][-1]["role"] == "assistant"
        and result[2][-1]["content"].startswith("1")),
    "local caught, failure": (
        None,
        lambda result: len(result["answers"]) == 2 and result["index"] in (1, 2)
        and result["caught"] is False and isinstance(result["code"], str)),
    'require("answers")': (
        {"question": "How much is 2 + 3?"},
        lambda result: set(result) <= {"answer", "votes"} and result["votes"] <= 4),
}


def exec_once(source, given):
    with tempfile.TemporaryDirectory(prefix="windrow-document-") as folder:
        path = Path(folder, "block.lua")
        path.write_text(source, encoding="utf-8")
        kept = {name: value for name, value in os.environ.items()
                if not name.startswith("WINDROW_")}
        return subprocess.run(
            [PROGRAM, "exec", str(path), "--arg", json.dumps(given), "--model",
             f"demo={MODELS}/windrow-demo.gguf", "--model", f"embed={MODELS}/windrow-embed.gguf"],
            cwd=folder, env=kept | {"XDG_CONFIG_HOME": folder, "LC_ALL": "C.UTF-8"},
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT_S, check=False)


class Document(unittest.TestCase):
    def test_every_block_is_known(self):
        self.assertEqual(len(BLOCKS), len(EXPECTED))
        for piece in EXPECTED:
            self.assertEqual(sum(piece in block for block in BLOCKS), 1, piece)

    def test_blocks_run(self):
        for piece, (given, is_right) in EXPECTED.items():
            with self.subTest(piece):
                block = next(block for block in BLOCKS if piece in block)
                ended = exec_once(block, given)
                self.assertEqual(ended.returncode, 0, ended.stderr)
                result = json.loads(ended.stdout)
                self.assertTrue(is_right(result), result)


if __name__ == "__main__":
    unittest.main()
