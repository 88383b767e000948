"""Programs, rows, flags and files that are wrong, and a disk that is full: what is said, and that
nothing is lost."""

import gzip
import json
import os
import resource
import unittest

from exec_program import DRAWS, INSTANT, Programs, numbers, row

# Files that are no programs, and what is said.
BAD_PROGRAMS = (
    ("return function(input) retrn 1 end", "bad.lua:1:"),
    ("return function(input)\n  return {\nend", "bad.lua:3:"),
    ("x = ", "bad.lua:1:"),
    ("", "returns nothing"),
    ("return 1", "returns number"),
    ("return {}", "returns table"),
    ("error('at load')", "at load"),
    ("local x = nil; return x.y", "bad.lua:1:"),
    ("while true do end", "instruction limit"),
    ("local t = {} while true do t[#t + 1] = ('x'):rep(1000) .. #t end", "memory limit"),
    ("local t = setmetatable({}, {}) getmetatable(t).__call = t; t()", "stack limit"),
    ("Context.new():user('x'):generate{} return function() end", "outside the program's function"),
    ("require('io') return function() end", "io"),
    ("require('socket') return function() end", "socket"),
    ("\x1bLua", "compiled Lua"),
)

# Lines that are no rows, and their codes.
BAD_ROWS = (
    ("{", "invalid_json_line"),
    ("[]", "invalid_json_line"),
    ('{"custom_id": "x"}', "missing_input"),
    ('{"custom_id": 5, "input": 1}', "invalid_custom_id"),
    ('{"custom_id": "x", "input": 1, "seed": "s"}', None),
    ('{"custom_id": "x", "input": 1, "seed": -1}', None),
)


class Misuse(Programs):
    def job(self, *words, program="draws.lua", **more):
        return self.windrow("exec", program, "--input", "rows.jsonl", "-o", "results.jsonl",
                            "--model", INSTANT, *words, **more)

    def setUp(self):
        super().setUp()
        self.write("draws.lua", DRAWS)
        self.write("rows.jsonl", numbers(5))

    def names(self):
        return {path.name for path in self.folder.iterdir()}

    def test_programs_that_are_none(self):
        before = self.names() | {"bad.lua"}
        for source, text in BAD_PROGRAMS:
            with self.subTest(source):
                self.write("bad.lua", source)
                self.check(self.job(program="bad.lua"), 2, "bad.lua", text)
                self.assertEqual(self.names(), before)
                self.check(self.windrow("exec", "bad.lua", "--model", INSTANT), 2, text)
        os.mkdir(self.folder / "folder.lua")
        self.check(self.job(program="folder.lua"), 2, "folder.lua")
        self.check(self.job(program="absent.lua"), 2, "absent.lua")
        (self.folder / "bad.lua").write_bytes(b"return function() return '\xff' end")
        self.check(self.windrow("exec", "bad.lua", "--model", INSTANT), 1, "UTF-8")

    def test_words_and_flags_that_are_wrong(self):
        rows = ("--input", "rows.jsonl", "-o", "results.jsonl")
        sim = ("--model", INSTANT)
        for words, texts in (
                ((), ("no program",)),
                (("draws.lua", "more", *sim), ("more",)),
                (("draws.lua", *rows), ("no model", "--model")),
                (("draws.lua", *rows, *sim, "--arg", "1"), ("--input", "--arg")),
                (("draws.lua", "--input", "rows.jsonl", *sim), ("-o",)),
                (("draws.lua", "-o", "x.jsonl", *sim), ("--input",)),
                (("draws.lua", *sim, "--arg", "{"), ("--arg is not JSON",)),
                (("draws.lua", *rows, *sim, "--upstream", "http://127.0.0.1:1"), ("--upstream",)),
                (("draws.lua", *rows, *sim, "--program-memory", "5"), ("--program-memory-mb",)),
                (("draws.lua", *rows, *sim, "--programs-in-flight", "0"),
                 ("--programs-in-flight",)),
                (("draws.lua", *rows, *sim, "--program-seconds", "-1"), ("--program-seconds",)),
                (("draws.lua", *rows, *sim, "--program-tokens", "many"), ("--program-tokens",)),
                (("draws.lua", "--input", "absent.jsonl", "-o", "x.jsonl", *sim),
                 ("absent.jsonl",)),
                (("draws.lua", "--input", "rows.jsonl", "-o", "rows.jsonl", *sim),
                 ("rows.jsonl",)),
                (("draws.lua", "--input", "rows.jsonl", "-o", "no/where.jsonl", *sim), ("no",)),
                (("draws.lua", "--input", "draws.lua", "-o", "x.jsonl", *sim), ("draws.lua",))):
            with self.subTest(words):
                before = self.names()
                done = self.windrow("exec", *words)
                self.check(done, 2, *texts)
                self.assertEqual(self.names(), before)
        self.check(self.windrow("exec", "draws.lua", *rows, "--model", "absent.gguf"), 2,
                   "absent.gguf")

    def test_rows_that_are_none_are_failures_of_their_own(self):
        lines = [json.dumps(line) for line in numbers(2)]
        self.write("rows.jsonl", "\n".join([lines[0], *(text for text, _ in BAD_ROWS), "",
                                            lines[1]]) + "\n")
        done = self.job()
        self.check(done, 1, f"2 succeeded, {len(BAD_ROWS)} failed")
        self.assertEqual(set(self.results()), {"row-1", "row-2"})
        errors = self.lines("results.errors.jsonl")
        self.assertEqual([line["error"]["line"] for line in errors],
                         list(range(2, 2 + len(BAD_ROWS))))
        for line, (text, code) in zip(errors, BAD_ROWS):
            with self.subTest(text):
                if code:
                    self.assertEqual(line["error"]["code"], code)
        self.check(self.job("--strict", "--fresh"), 2)

    def test_the_same_custom_id_twice(self):
        self.write("rows.jsonl", [row("a", {"number": 1}), row("a", {"number": 2})])
        done = self.job()
        self.check(done, 1, "1 succeeded, 1 failed")
        self.assertEqual(set(self.results()), {"a"})

    def test_other_forms_of_rows(self):
        whole = self.results_of_rows("plain.jsonl", "".join(
            json.dumps(line) + "\n" for line in numbers(5)).encode())
        text = "\r\n".join(json.dumps(line) for line in numbers(5)).encode()
        self.assertEqual(self.results_of_rows("lines.jsonl", text), whole)
        self.assertEqual(self.results_of_rows("rows.jsonl.gz", gzip.compress(text)), whole)

    def results_of_rows(self, name, contents):
        (self.folder / name).write_bytes(contents)
        self.check(self.windrow("exec", "draws.lua", "--input", name, "-o", "results.jsonl",
                                "--model", INSTANT, "--fresh"), 0)
        return self.results()

    def test_no_rows(self):
        self.write("rows.jsonl", "")
        done = self.job()
        self.assertIn(done.code, (0, 2), done)
        self.assertEqual(self.results(), {})

    def test_a_full_disk(self):
        """The limit of a file's size is what can be set without rights."""
        self.check(self.windrow("exec", "draws.lua", "--input", "rows.jsonl", "-o", "whole.jsonl",
                                "--model", INSTANT), 0)
        whole = self.results("whole.jsonl")
        size = (self.folder / "whole.jsonl").stat().st_size
        for limit in (0, 16, size // 3, size * 2 // 3):
            with self.subTest(limit):
                done = self.job(preexec_fn=lambda limit=limit: resource.setrlimit(
                    resource.RLIMIT_FSIZE, (limit, limit)))
                self.check(done, 2)
                self.assertRegex(done.err, "File too large|is full")
                self.assertEqual(self.failures(), {})
                self.check(self.job("--quiet"), 0)
                self.assertEqual(self.results(), whole)
                for name in self.names():
                    if name.startswith("results"):
                        (self.folder / name).unlink()

    def test_a_trace_that_cannot_be_written(self):
        """It costs no result."""
        limit = 3000
        done = self.windrow("exec", "draws.lua", "--arg", '{"number": 1}', "--model", INSTANT,
                            "--trace", "out.json", preexec_fn=lambda: resource.setrlimit(
                                resource.RLIMIT_FSIZE, (limit, limit)))
        self.check(done, 0, "warning: there is no trace", "out.json")
        self.assertTrue(done.out.startswith("{"), done)

    def test_two_at_the_same_output(self):
        self.write("long.lua", "return function() Context.new():user('x'):generate{} end")
        words = ("exec", "long.lua", "--input", "rows.jsonl", "-o", "results.jsonl", "--model",
                 "sim:step-us=50000,answer-tokens=4000")
        first = self.start(*words)
        while not (self.folder / "results.job.json").exists():
            self.assertIsNone(first.poll())
        second = self.windrow(*words)
        self.check(second, 2, "results")
        self.assertIsNone(first.poll())
        first.kill()
        first.communicate()


if __name__ == "__main__":
    unittest.main()
