"""Limits of `windrow exec`: each flag has its effect and its code, and what one instance does harms
no other."""

import json
import time
import unittest

from exec_program import INSTANT, Programs, ended, numbers, row

INSTRUCTIONS = "program_instruction_limit"
MEMORY = "program_memory_limit"
TIME = "program_time_limit"
TOKENS = "program_token_limit"
CONTEXTS = "program_context_limit"
BRANCHES = "program_children_limit"
ERROR = "program_error"

# Programs that hit a limit, the flag that sets it, and what the message says.
LIMITS = (
    ("--program-memory-mb", "1", MEMORY, "1 MiB",
     "local t = {} for i = 1, 50000 do t[i] = {} end"),
    ("--program-memory-mb", "1", MEMORY, "1 MiB",
     "while true do pcall(string.rep, 'x', 1 << 21) end"),
    ("--program-instructions", "10000", INSTRUCTIONS, "10000",
     "for i = 1, 100000 do end"),
    ("--program-instructions", "10000", INSTRUCTIONS, "10000",
     "while true do pcall(error) end"),
    ("--program-seconds", "1", TIME, "1 s",
     "while true do Context.new():user('x'):generate{max_tokens = 8} end"),
    ("--program-tokens", "50", TOKENS, "50",
     "for i = 1, 100 do Context.new():user('x'):generate{max_tokens = 20} end"),
    ("--program-contexts", "3", CONTEXTS, "3",
     "local t = {} for i = 1, 4 do t[i] = Context.new() end"),
    ("--program-branches", "3", BRANCHES, "3",
     "local f = function() return 1 end all{f, f, f, f}"),
)


class Limits(Programs):
    def test_each_flag_has_its_effect_and_code(self):
        for flag, value, code, text, body in LIMITS:
            with self.subTest(body):
                self.write("program.lua", f"return function(input) {body} return 'done' end")
                self.write("rows.jsonl", [row("a", 1)])
                done = self.windrow("exec", "program.lua", "--input", "rows.jsonl", "-o",
                                    "results.jsonl", "--model", INSTANT, flag, value, "--fresh")
                self.check(done, 1)
                self.assertEqual(self.failures(), {"a": code})
                self.assertIn(text, self.message_of("a"))
                # Above the limit it works, if it ends at all.
                if "while" not in body:
                    done = self.windrow("exec", "program.lua", "--input", "rows.jsonl", "-o",
                                        "results.jsonl", "--model", INSTANT, "--fresh")
                    self.check(done, 0)
                    self.assertEqual(self.results(), {"a": "done"})

    def test_what_pcall_may_catch(self):
        caught = self.once("""
            return function()
              local first = Context.new()
              local ok, message = pcall(function() local a, b = first:fork(), first:fork() end)
              return {ok, message.code, message.status, tostring(message)}
            end""", None, "--program-contexts", "2")
        self.check(caught, 0)
        ok, code, status, message = json.loads(caught.out)
        self.assertEqual((ok, code), (False, CONTEXTS))
        self.assertIn(status, range(400, 500))
        self.assertIn("--program-contexts", message)

    def test_a_limit_in_a_setting(self):
        self.write("windrow.toml", "program-instructions = 1000\n")
        done = self.once("return function() for i = 1, 100000 do end end")
        self.check(done, 1, "instruction limit of 1000")

    def test_fewer_instances_at_a_time_change_no_result(self):
        self.write("draws.lua", """
            return function(input)
              local ctx <close> = Context.new():user("Number " .. input.number)
              return {ctx:generate{max_tokens = 8}.text, math.random(1000000)}
            end""")
        self.write("rows.jsonl", numbers(20))
        found = []
        for flight in ("1", "3", "64"):
            done = self.windrow("exec", "draws.lua", "--input", "rows.jsonl", "-o",
                                "results.jsonl", "--model", INSTANT, "--fresh",
                                "--programs-in-flight", flight)
            self.check(done, 0)
            found.append(self.results())
        self.assertEqual(found[0], found[1])
        self.assertEqual(found[0], found[2])
        self.assertEqual(len(found[0]), 20)


class Neighbours(Programs):
    # Each in an instance of its own, and the code of its row.
    HOSTILE = (
        ("while true do end", INSTRUCTIONS),
        ("while true do pcall(function() while true do end end) end", INSTRUCTIONS),
        ("local t = {} while true do t[#t + 1] = ('x'):rep(10000) .. #t end", MEMORY),
        ("local t = setmetatable({}, {}) getmetatable(t).__call = t; t()", MEMORY),
        ("local t = setmetatable({}, {}) getmetatable(t).__call = t while true do pcall(t) end",
         MEMORY),
        ("local function f() return 1 + f() end return f()", MEMORY),
        ("local z = ('\\0'):rep(2000000) local y = z .. 'a' while true do local b = z < y end",
         TIME),
        ("table.sort({3, 2, 1}, function() while true do end end)", INSTRUCTIONS),
        ("('x'):rep(100):gsub('.', function() while true do end end)", INSTRUCTIONS),
        ("return ('a'):rep(10000):find(('a*'):rep(30) .. 'b')", ERROR),
        ("map({1, 2, 3, 4}, function() while true do end end)", INSTRUCTIONS),
        ("local c = Context.new():user('x') while true do c:fork() end", INSTRUCTIONS),
        ("local t, c = {}, Context.new() while true do t[#t + 1] = c:fork() end", CONTEXTS),
        ("while true do Context.new():user(('x '):rep(999)):generate{max_tokens = 1} end", TOKENS),
        ("return Context.new():user(('x '):rep(100000)):generate{max_tokens = 4}", TOKENS),
        ("error(setmetatable({}, {__tostring = function() while true do end end}))", ERROR),
        ("local x <close> = setmetatable({}, {__close = function() while true do end end}) "
         "error('x')", ERROR),
        ("while true do for i = 1, 200 do end log(('x'):rep(900)) end", INSTRUCTIONS),
    )

    def test_nine_that_work_beside_each_that_does_not(self):
        self.write("program.lua", "local hostile = {\n" + "".join(
            f"function() {body} end,\n" for body, _ in self.HOSTILE) + """}
            return function(input)
              if input.hostile then return hostile[input.hostile]() end
              local ctx <close> = Context.new():user("Number " .. input.number)
              for i = 1, 3 do ctx:generate{max_tokens = 4} ctx:user("again") end
              return input.number
            end""")
        rows = numbers(9)
        for i in range(len(self.HOSTILE)):
            rows.insert(i * 2 % len(rows), row(f"hostile-{i}", {"hostile": i + 1}))
        self.write("rows.jsonl", rows)
        done = self.windrow("exec", "program.lua", "--input", "rows.jsonl", "-o", "results.jsonl",
                            "--model", "sim:instant,answer-tokens=8,context=10000", "--quiet",
                            "--program-instructions", "3000000", "--program-seconds", "8",
                            "--program-tokens", "5000", "--program-memory-mb", "8")
        self.assertEqual(done.code, 1, done.err[-2000:])
        self.assertEqual(self.results(), {f"row-{i}": i for i in range(1, 10)})
        found = self.failures()
        for i, (body, code) in enumerate(self.HOSTILE):
            self.assertEqual(found[f"hostile-{i}"], code, body)

    def test_one_that_loops_delays_others_little(self):
        """Nine rows are done long before the one beside them has come to its limit."""
        self.write("program.lua", """
            return function(input)
              if input.number == 1 then while true do pcall(error) end end
              local ctx <close> = Context.new():user("Number " .. input.number)
              return ctx:generate{max_tokens = 4}.text
            end""")
        self.write("rows.jsonl", numbers(10))
        begun = time.monotonic()
        process = self.start("exec", "program.lua", "--input", "rows.jsonl", "-o", "results.jsonl",
                             "--model", INSTANT, "--program-instructions", "1000000000000",
                             "--program-seconds", "6")
        while len(self.lines("results.jsonl")) < 9:
            self.assertIsNone(process.poll(), "the rows that work came last")
            time.sleep(0.01)
        self.assertEqual(self.lines("results.errors.jsonl"), [])
        self.check(ended(process), 1, "9 succeeded, 1 failed")
        self.assertEqual(self.failures(), {"row-1": TIME})
        self.assertGreaterEqual(time.monotonic() - begun, 6)


if __name__ == "__main__":
    unittest.main()
