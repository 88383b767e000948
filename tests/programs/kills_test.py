"""A job of programs that is killed or interrupted at any time: the same command goes on, every row
is there once, and results are those of a job that nothing disturbed."""

import random
import signal
import unittest

from exec_program import (DEMO, DRAWS, INSTANT, SLOW, Programs, ended, numbers, row, wait_for,
                          wait_until)

KILLS_MAX = 60

GREEDY = """
return function(input)
  local ctx <close> = Context.new()
  ctx:system("Sort the digits. Answer with all of them, smallest first, separated by spaces.")
  ctx:user("Sort: " .. input)
  local forks = ctx:fork(2)
  local sampled = forks[1]:generate{max_tokens = 24, seed = 5, temperature = 0.8, top_p = 0.95}
  return {forks[2]:generate{max_tokens = 24, temperature = 0}.text, sampled.text}
end
"""


class Kills(Programs):
    def setUp(self):
        super().setUp()
        self.random = random.Random(3)

    def job(self, program, output, model, *words):
        return ["exec", program, "--input", "rows.jsonl", "-o", output, "--model", model, *words]

    def whole(self, program, model, *words):
        done = self.windrow(*self.job(program, "whole.jsonl", model, *words))
        self.check(done, 0)
        return self.results("whole.jsonl")

    def kill_until_done(self, words, rows_between):
        """Kills the command again and again, after that many more rows. Returns the kills."""
        for kills in range(KILLS_MAX):
            wanted = len(self.lines("results.jsonl")) + rows_between
            process = self.start(*words)
            self.assertTrue(
                wait_until(process, lambda: len(self.lines("results.jsonl")) >= wanted)
                or process.poll() == 0, process.poll())
            # Somewhere within what is written next.
            wait_for(process, self.random.uniform(0, 0.02))
            process.send_signal(signal.SIGKILL)
            done = ended(process)
            if done.code == 0:
                return kills
            self.assertEqual(done.code, -signal.SIGKILL, done)
        self.fail(f"{KILLS_MAX} kills, and it is not done")

    def test_kill_9_again_and_again(self):
        self.write("draws.lua", DRAWS)
        self.write("rows.jsonl", numbers(60))
        whole = self.whole("draws.lua", INSTANT)
        kills = self.kill_until_done(
            self.job("draws.lua", "results.jsonl", SLOW, "--programs-in-flight", "6"), 7)
        self.assertGreater(kills, 3)
        self.assertEqual(self.results(), whole)
        done = self.windrow(*self.job("draws.lua", "results.jsonl", SLOW))
        self.check(done, 0)
        self.assertEqual(self.results(), whole)

    def test_kill_9_on_a_model(self):
        self.write("greedy.lua", GREEDY)
        self.write("rows.jsonl", [row(f"row-{i}", " ".join(self.random.choices("0123456789", k=8)))
                                  for i in range(8)])
        # One row in a pass: rounding is the same whatever is beside it.
        exact = ("--rows-max", "1", "--no-share", "--programs-in-flight", "3")
        whole = self.whole("greedy.lua", DEMO, *exact)
        kills = self.kill_until_done(self.job("greedy.lua", "results.jsonl", DEMO, *exact), 3)
        self.assertGreater(kills, 0)
        self.assertEqual(self.results(), whole)

    def test_kill_9_before_anything_is_there(self):
        self.write("draws.lua", DRAWS)
        self.write("rows.jsonl", numbers(20))
        whole = self.whole("draws.lua", INSTANT)
        words = self.job("draws.lua", "results.jsonl", SLOW)
        for after_s in (0, 0.01, 0.03, 0.06, 0.1, 0.2):
            process = self.start(*words)
            wait_for(process, after_s)
            process.send_signal(signal.SIGKILL)
            ended(process)
        self.check(self.windrow(*words), 0)
        self.assertEqual(self.results(), whole)
        self.assertEqual(self.lines("results.errors.jsonl"), [])

    def test_a_kill_between_failures(self):
        """Rows that failed are there once, too, and run again only when that is asked for."""
        self.write("half.lua", """
            return function(input)
              local ctx <close> = Context.new():user("Number " .. input.number)
              local answer = ctx:generate{max_tokens = 8, temperature = 0}.text
              if input.number % 2 == 0 then error("even: " .. answer, 0) end
              return answer
            end""")
        self.write("rows.jsonl", numbers(30))
        words = self.job("half.lua", "results.jsonl", SLOW, "--programs-in-flight", "3")
        for _ in range(4):
            lines = len(self.lines("results.errors.jsonl")) + 2
            process = self.start(*words)
            wait_until(process, lambda wanted=lines: len(self.lines("results.errors.jsonl"))
                       >= wanted)
            process.send_signal(signal.SIGKILL)
            ended(process)
        self.check(self.windrow(*words), 1, "15 succeeded, 15 failed")
        even = {f"row-{i}": "program_error" for i in range(2, 31, 2)}
        self.assertEqual(self.failures(), even)
        self.assertEqual(len(self.lines("results.errors.jsonl")), 15)
        self.assertEqual(set(self.results()), {f"row-{i}" for i in range(1, 31, 2)})

    def test_ctrl_c_lets_instances_end(self):
        self.write("draws.lua", DRAWS)
        self.write("rows.jsonl", numbers(60))
        whole = self.whole("draws.lua", INSTANT)
        words = self.job("draws.lua", "results.jsonl", SLOW, "--programs-in-flight", "4",
                         "--grace", "3600")
        process = self.start(*words)
        self.assertTrue(wait_until(process, lambda: self.lines("results.jsonl")))
        process.send_signal(signal.SIGINT)
        self.check(ended(process), 130, "same command")
        self.assertLess(len(self.results()), 60)
        self.assertEqual(self.failures(), {})
        self.check(self.windrow(*words), 0)
        self.assertEqual(self.results(), whole)

    def test_ctrl_c_ends_what_does_not_end(self):
        """Programs that compute, or that wait for a long answer, are no failures."""
        self.write("long.lua", """
            return function(input)
              if input.number % 2 == 0 then
                for i = 1, 1e9 do pcall(function() Context.new():release() end) end
              end
              return Context.new():user("x"):generate{max_tokens = 90000}.text
            end""")
        self.write("rows.jsonl", numbers(6))
        words = self.job("long.lua", "results.jsonl",
                         "sim:step-us=20000,answer-tokens=80000,context=100000", "--grace", "1",
                         "--program-instructions", "1000000000000")
        process = self.start(*words)
        self.assertTrue(wait_until(process, (self.folder / "results.job.json").exists))
        process.send_signal(signal.SIGINT)
        done = ended(process)
        self.check(done, 130)
        self.assertEqual(self.lines("results.jsonl"), [])
        self.assertEqual(self.lines("results.errors.jsonl"), [])

    def test_ctrl_c_of_one_instance(self):
        self.write("loop.lua", "return function() log('begun') while true do pcall(error) end end")
        process = self.start("exec", "loop.lua", "--model", INSTANT, "--program-instructions",
                             "1000000000000")
        line = b""
        while b"begun" not in line:
            line = process.stderr.readline()
            self.assertNotEqual(line, b"")
        process.send_signal(signal.SIGINT)
        done = ended(process)
        self.assertEqual(done.code, 130, done)
        self.assertEqual(done.out, "")


class Resume(Programs):
    """What a job keeps from run to run."""

    def job(self, *words, program="draws.lua", model=INSTANT):
        return self.windrow("exec", program, "--input", "rows.jsonl", "-o", "results.jsonl",
                            "--model", model, *words)

    def setUp(self):
        super().setUp()
        self.write("draws.lua", DRAWS)
        self.write("rows.jsonl", numbers(5))

    def test_a_changed_program_is_refused_until_fresh(self):
        self.check(self.job(), 0)
        first = self.results()
        changed = DRAWS.replace('"Answer briefly."', '"Answer at length."')
        self.write("draws.lua", changed)
        self.check(self.job(), 2, "program", "--fresh")
        self.assertEqual(self.results(), first)
        self.check(self.job("--fresh"), 0)
        self.assertNotEqual(self.results(), first)
        kept = [path for path in self.folder.iterdir()
                if path.name.startswith("results") and "rows" not in path.name
                and path.suffix == ".jsonl" and path.name != "results.jsonl"]
        self.assertTrue(kept, list(self.folder.iterdir()))
        self.write("draws.lua", DRAWS)
        self.check(self.job(), 2, "--fresh")
        # Another name for the same text is another program, as results name it.
        self.write("other.lua", changed)
        self.check(self.job(program="other.lua"), 2, "--fresh")

    def test_another_model_is_refused_and_limits_are_not(self):
        self.check(self.job(), 0)
        self.check(self.job(model="sim:instant,answer-tokens=4"), 2, "--fresh")
        self.check(self.job("--program-memory-mb", "32", "--program-seconds", "60",
                            "--program-instructions", "1000000", "--program-tokens", "100000"), 0)

    def test_more_rows_and_changed_rows(self):
        self.check(self.job(), 0)
        first = self.results()
        self.write("rows.jsonl", numbers(8))
        self.check(self.job(), 0)
        more = self.results()
        self.assertEqual(len(more), 8)
        self.assertEqual({name: more[name] for name in first}, first)

    def test_failed_rows_run_again_when_asked(self):
        self.write("draws.lua", """
            return function(input)
              local t = {}
              for i = 1, input.number * 10000 do t[i] = i end
              return #t
            end""")
        self.check(self.job("--program-memory-mb", "1"), 1, "2 failed")
        self.assertEqual(self.failures(), dict.fromkeys(
            ("row-4", "row-5"), "program_memory_limit"))
        again = self.job("--program-memory-mb", "64")
        self.assertEqual(again.code, 1, again)
        self.assertEqual(len(self.results()), 3)
        self.check(self.job("--retry-failed", "--program-memory-mb", "64"), 0)
        self.assertEqual(self.results(), {f"row-{i}": i * 10000 for i in range(1, 6)})


if __name__ == "__main__":
    unittest.main()
