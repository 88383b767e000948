"""What `windrow exec` writes and prints: results, failures, logs and traces."""

import json
import unittest

from exec_program import DEMO, DRAWS, INSTANT, Programs, numbers, row

SORT = """
return function(input)
  local ctx <close> = Context.new()
  ctx:system("Sort the digits. Answer with all of them, smallest first, separated by spaces.")
  ctx:user("Sort: " .. input)
  local answer = ctx:generate{max_tokens = 24, temperature = 0}
  return {sorted = answer.text, tokens = answer.completion_tokens}
end
"""


class Results(Programs):
    def test_a_line_of_results(self):
        for model, count in ((INSTANT, 5), (DEMO, 3)):
            with self.subTest(model=model):
                self.write("draws.lua", DRAWS)
                self.write("rows.jsonl", numbers(count))
                done = self.windrow("exec", "draws.lua", "--input", "rows.jsonl", "-o",
                                    "results.jsonl", "--model", model, "--fresh", "--ordered")
                self.check(done, 0, f"{count} succeeded, 0 failed")
                lines = self.lines("results.jsonl")
                self.assertEqual([line["custom_id"] for line in lines],
                                 [f"row-{i}" for i in range(1, count + 1)])
                for number, line in enumerate(lines, 1):
                    self.check_line(line, number)
                summary = json.loads((self.folder / "results.summary.json").read_text())
                self.assertEqual(summary["rows"]["succeeded"], count, summary)

    def check_line(self, line, number):
        self.assertIsNone(line["error"])
        self.assertRegex(line["id"], "^batch_req_")
        response = line["response"]
        self.assertEqual(response["status_code"], 200)
        self.assertRegex(response["request_id"], "^req_")
        body = response["body"]
        self.assertEqual((body["object"], body["program"]), ("program.result", "draws.lua"))
        self.assertEqual(set(body["result"]), {"answers", "dice"})
        self.assertEqual(len(body["result"]["answers"]), 3)
        usage, programs = body["usage"], body["program_usage"]
        self.assertEqual(usage["total_tokens"],
                         usage["prompt_tokens"] + usage["completion_tokens"])
        self.assertLessEqual(usage["completion_tokens"], 24)
        self.assertGreater(usage["prompt_tokens"], 0)
        self.assertEqual(programs["calls"], 3)
        self.assertEqual(programs["wasted_tokens"], 0)
        self.assertGreaterEqual(programs["contexts_peak"], 4)
        self.assertGreater(programs["passes"], 0)
        self.assertGreater(programs["memory_bytes_peak"], 1000)
        self.assertEqual((line["windrow"]["line"], line["windrow"]["attempts"]), (number, 1))

    def test_the_model_is_asked(self):
        digits = {"a": "3 1 2 9 0 4 4 7", "b": "5 2 6 0 1 8 1 5", "c": "9 8 7 6 5 4 3 2"}
        self.write("sort.lua", SORT)
        self.write("rows.jsonl", [row(name, text) for name, text in digits.items()])
        done = self.windrow("exec", "sort.lua", "--input", "rows.jsonl", "-o", "results.jsonl",
                            "--model", DEMO)
        self.check(done, 0)
        for name, found in self.results().items():
            self.assertEqual(found["sorted"], " ".join(sorted(digits[name].split())))
        self.assertEqual(len(self.results()), 3)

    def test_values_go_in_and_out_as_json(self):
        values = [None, True, 0, -1, 1.5, 2**53, "", "text \u00e9 \U0001f600 \"\\\n", [], {},
                  [1, [2, [3, []]]], {"a": {"b": [{}, [], None]}}, [None, 1, None], "\x7f\u0000x"]
        self.write("echo.lua", "return function(input) return input end")
        self.write("rows.jsonl", [row(f"v{i}", value) for i, value in enumerate(values)])
        done = self.windrow("exec", "echo.lua", "--input", "rows.jsonl", "-o", "results.jsonl",
                            "--model", INSTANT)
        self.check(done, 0)
        found = self.results()
        for i, value in enumerate(values):
            self.assertEqual(json.dumps(found[f"v{i}"]), json.dumps(value))

    def test_the_seed_of_a_row_decides(self):
        self.write("draws.lua", DRAWS)
        value = {"number": 1}
        self.write("rows.jsonl", [row("a", value, seed=7), row("b", value, seed=7),
                                  row("c", value, seed=8), row("d", value)])
        done = self.windrow("exec", "draws.lua", "--input", "rows.jsonl", "-o", "results.jsonl",
                            "--model", INSTANT)
        self.check(done, 0)
        found = self.results()
        self.assertEqual(found["a"], found["b"])
        self.assertNotEqual(found["a"], found["c"])
        self.assertNotEqual(found["a"], found["d"])

    def test_rows_that_fail_beside_rows_that_do_not(self):
        self.write("some.lua", """
            return function(input)
              if input == "error" then error("no good") end
              if input == "table" then error({code = "mine", message = "a table"}) end
              if input == "function" then return {{print}} end
              if input == "nan" then return {a = 0/0} end
              if input == "branch" then
                return map({1, 2, 3}, function(i) if i == 2 then error("branch " .. i) end end)
              end
              if input == "caught" then return select(2, pcall(error, "caught", 0)) end
              return Context.new():user(input):generate{max_tokens = 4}.text
            end""")
        names = ("error", "table", "function", "nan", "branch", "caught", "x", "y")
        self.write("rows.jsonl", [row(name, name) for name in names])
        done = self.windrow("exec", "some.lua", "--input", "rows.jsonl", "-o", "results.jsonl",
                            "--model", INSTANT)
        self.check(done, 1, "3 succeeded, 5 failed")
        self.assertEqual(set(self.results()), {"caught", "x", "y"})
        self.assertEqual(self.results()["caught"], "caught")
        self.assertEqual(self.failures(), dict.fromkeys(
            ("error", "table", "function", "nan", "branch"), "program_error"))
        self.assertIn("some.lua:3: no good\nstack traceback:", self.message_of("error"))
        self.assertIn("a table", self.message_of("table"))
        self.assertIn("result[1][1] is a function", self.message_of("function"))
        self.assertIn("result.a", self.message_of("nan"))
        self.assertIn("some.lua:8: branch 2\nstack traceback:", self.message_of("branch"))

    def test_one_instance_prints_its_result_alone(self):
        names = sorted(path.name for path in self.folder.iterdir())
        done = self.once("log('loading') return function(input) log('one', 2) print('three') "
                         "return {input, 'ok'} end", {"a": 1})
        self.check(done, 0, "one\t2", "three", "loading")
        self.assertEqual(json.loads(done.out), [{"a": 1}, "ok"])
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()),
                         sorted([*names, "once.lua"]))
        done = self.once("return function(input) return input == nil end")
        self.assertEqual(done.out, "true\n")
        done = self.once("return function() error('no') end")
        self.check(done, 1, "once.lua:1: no", "stack traceback:")
        self.assertEqual(done.out, "")
        done = self.once(DRAWS, {"number": 1}, "--json")
        (body,) = [line for line in map(json.loads, done.out.splitlines()) if "object" in line]
        self.assertEqual((body["object"], body["program_usage"]["calls"]), ("program.result", 3))
        self.assertEqual(self.once(DRAWS, {"number": 1}).out, self.once(DRAWS, {"number": 1}).out)

    def test_a_log_line_names_its_row(self):
        self.write("logs.lua", "return function(input) log('line of ' .. input) end")
        self.write("rows.jsonl", [row("a", "A"), row("b", "B")])
        done = self.windrow("exec", "logs.lua", "--input", "rows.jsonl", "-o", "results.jsonl",
                            "--model", INSTANT)
        self.check(done, 0, "a: line of A", "b: line of B")
        self.assertEqual(self.results(), {"a": None, "b": None})


class Traces(Programs):
    def setUp(self):
        super().setUp()
        self.write("draws.lua", DRAWS)
        self.write("rows.jsonl", numbers(4))

    def run_with(self, name, *words):
        return self.windrow("exec", "draws.lua", "--input", "rows.jsonl", "-o", "results.jsonl",
                            "--model", "sim:step-us=200,answer-tokens=8", "--fresh", "--trace",
                            name, *words)

    def test_chrome(self):
        self.check(self.run_with("out.json"), 0)
        events = json.loads((self.folder / "out.json").read_text())["traceEvents"]
        spans = [event for event in events if event["ph"] == "X"]
        passes = [span for span in spans if span["name"] == "pass"]
        calls = [span for span in spans if span.get("cat") == "generate"]
        instances = [span for span in spans if span.get("cat") == "instance"]
        self.assertEqual({span["name"] for span in instances}, {f"row-{i}" for i in range(1, 5)})
        self.assertEqual(len(calls), 12)
        self.assertGreater(max(span["args"]["width"] for span in passes), 3)
        bounds = {span["pid"]: (span["ts"], span["ts"] + span["dur"]) for span in instances}
        for call in calls:
            first, last = bounds[call["pid"]]
            self.assertGreaterEqual(call["ts"], first - 1)
            self.assertLessEqual(call["ts"] + call["dur"], last + 1)

    def test_text(self):
        self.check(self.run_with("out.txt"), 0)
        text = (self.folder / "out.txt").read_text()
        for word in ("row-1", "row-4", "map 3 of 3", "generate", "tokens by stage", "passes"):
            self.assertIn(word, text)

    def test_of_one_instance(self):
        self.write("once.lua", DRAWS)
        done = self.windrow("exec", "once.lua", "--arg", '{"number": 1}', "--model", INSTANT,
                            "--trace", "one.txt")
        self.check(done, 0)
        self.assertIn("map 1 of 3", (self.folder / "one.txt").read_text())

    def test_files_that_no_trace_can_be(self):
        for name in ("out.png", "draws.lua", "no folder/out.json", "results.jsonl"):
            with self.subTest(name):
                done = self.run_with(name)
                self.check(done, 2, name)
        self.assertEqual((self.folder / "draws.lua").read_text(), DRAWS)


if __name__ == "__main__":
    unittest.main()
