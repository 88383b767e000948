"""The programs and examples that Windrow ships, on the demo model and on simulated servers."""

import json
import unittest

from exec_program import DEMO, EXAMPLES, Programs, SimUpstream

QUESTION = "Add: 17 + 23 + 5"

# The shipped programs that run unchanged with an upstream server: program, input, calls.
WITH_A_SERVER = (
    ("graph_of_thought", {"question": QUESTION}, 16),
    ("graph_of_thought", {"question": QUESTION, "proposals": 3, "schedule": "stream"}, 6),
    ("graph_of_thought", {"question": QUESTION, "proposals": 2, "check": False}, 3),
    ("graph_of_thought", {"question": QUESTION, "proposal_tokens": [64, 64, 64]}, 6),
    ("self_consistency", {"question": QUESTION}, 14),
    ("map_reduce", {"question": QUESTION, "parts": ["one", "two", "three"]}, 5),
    ("map_reduce", {"question": QUESTION, "parts": ["a", "b", "c"], "reduce": "at_once"}, 4),
    ("map_reduce", {"question": QUESTION, "text": "word " * 400, "part_bytes": 500}, 7),
    ("best_of_n", {"question": QUESTION, "samples": 3, "judge": "model"}, 4),
)

# On the demo model; calls at most, as what was cut off is not joined.
WITH_THE_DEMO_MODEL = (
    ("graph_of_thought", {"question": QUESTION, "proposals": 3, "proposal_tokens": 8,
                          "aggregation_tokens": 8}, 6),
    ("self_consistency", {"question": QUESTION, "samples": 3, "max_tokens": 8}, 3),
    ("map_reduce", {"question": QUESTION, "parts": ["one", "two"], "map_tokens": 8,
                    "reduce_tokens": 8}, 3),
    ("best_of_n", {"question": QUESTION, "samples": 3, "max_tokens": 8}, 4),
    ("best_of_n", {"question": QUESTION, "samples": 2, "max_tokens": 8, "judge": "model"}, 3),
)

# What is wrong with an input, by program, and a part of what is said.
REFUSED = (
    ("graph_of_thought", {}, "question"),
    ("graph_of_thought", None, "question"),
    ("graph_of_thought", {"question": QUESTION, "proposals": 1}, "give 2 or more"),
    ("graph_of_thought", {"question": QUESTION, "proposals": 0}, "proposals"),
    ("graph_of_thought", {"question": QUESTION, "proposals": 2.5}, "proposals"),
    ("graph_of_thought", {"question": QUESTION, "proposal_tokens": [256]}, "give 2 or more"),
    ("graph_of_thought", {"question": QUESTION, "proposal_tokens": [256, 0]}, "proposal_tokens"),
    ("graph_of_thought", {"question": QUESTION, "aggregation_tokens": 0}, "aggregation_tokens"),
    ("graph_of_thought", {"question": QUESTION, "schedule": "both"}, "level or stream"),
    ("self_consistency", {"question": QUESTION, "samples": 0}, "samples"),
    ("best_of_n", {"question": QUESTION, "judge": "me"}, "likelihood or model"),
    ("map_reduce", {"question": QUESTION}, "text"),
    ("map_reduce", {"question": QUESTION, "parts": []}, "parts"),
)

# Examples that a server runs which honours JSON Schemas, as sim-upstream does.
EXAMPLES_WITH_A_SERVER = ("sorting", "set_intersection", "sums", "keyword_counting",
                          "document_merging")
EXAMPLES_WITH_THE_DEMO_MODEL = ("sorting", "sums")


class Library(Programs):
    def check_result(self, program, value, found, calls):
        if program == "graph_of_thought" and found["passes"] > 0:
            self.assertIn(found["calls"], range(len(found["solutions"]), calls + 1))
            calls = found["calls"]
        self.assertEqual(found["calls"], calls)
        self.assertGreater(found["tokens"], 0)
        if program == "graph_of_thought":
            self.assertEqual(len(found["solutions"]), calls)
            self.assertTrue(found["answer"] is None or isinstance(found["answer"], str))
            self.assertEqual(sum(solution["check"] for solution in found["solutions"]),
                             0 if value.get("check") is False else 1)
            self.assertGreaterEqual(found["levels"], 1 if found["passes"] == 0 else 0)
        elif program == "map_reduce":
            self.assertIsInstance(found["answer"], str)
            self.assertGreaterEqual(len(found["findings"]), 2)
        else:
            self.assertEqual(len(found["samples"]),
                             value.get("samples", 14 if program == "self_consistency" else 8))

    def test_with_a_server(self):
        with SimUpstream("--token-ms", "0", "--prompt-token-us", "0", "--slots", "16") as server:
            for program, value, calls in WITH_A_SERVER:
                with self.subTest(program, value=value):
                    found = self.result_of(program, "--arg", json.dumps(value), "--upstream",
                                           server.url, "--program-model", "any")
                    self.check_result(program, value, found, calls)
                    self.assertEqual(found["passes"], 0)

    def test_what_a_server_does_not_have(self):
        with SimUpstream("--token-ms", "0", "--prompt-token-us", "0") as server:
            done = self.windrow("exec", "best_of_n", "--arg",
                                json.dumps({"question": QUESTION, "samples": 2}),
                                "--upstream", server.url, "--program-model", "any")
            self.check(done, 1, "score", "server")
            for body in ("c:cue():score{'a'}", "c:tokens()", "return #c", "c:truncate(1)",
                         "c:append('x')"):
                done = self.once(f"return function() local c = Context.new():user('x') {body} end",
                                 None, "--upstream", server.url, "--program-model", "any",
                                 model=None)
                self.check(done, 1, "server")

    def test_on_the_demo_model(self):
        """All in one job each, so that the model is loaded as rarely as can be."""
        for program in sorted({program for program, *_ in WITH_THE_DEMO_MODEL}):
            with self.subTest(program):
                cases = [(value, calls) for name, value, calls in WITH_THE_DEMO_MODEL
                         if name == program]
                self.write("rows.jsonl", [{"custom_id": str(i), "input": value}
                                          for i, (value, _) in enumerate(cases)])
                done = self.windrow("exec", program, "--input", "rows.jsonl", "-o",
                                    "results.jsonl", "--model", DEMO, "--fresh")
                self.check(done, 0)
                found = self.results()
                for i, (value, calls) in enumerate(cases):
                    self.check_result(program, value, found[str(i)], calls)
                    self.assertGreater(found[str(i)]["passes"], 0)

    def test_inputs_are_refused_before_the_first_token(self):
        by_program = {}
        for program, value, text in REFUSED:
            by_program.setdefault(program, []).append((value, text))
        for program, cases in by_program.items():
            self.write("rows.jsonl", [{"custom_id": str(i), "input": value}
                                      for i, (value, _) in enumerate(cases)])
            done = self.windrow("exec", program, "--input", "rows.jsonl", "-o", "results.jsonl",
                                "--model", "sim:instant", "--fresh")
            self.check(done, 1, "0 prompt, 0 generated, in 0 forward passes")
            self.assertEqual(len(self.failures()), len(cases))
            for i, (value, text) in enumerate(cases):
                with self.subTest(program, value=value):
                    self.assertIn("the input: ", self.message_of(str(i)))
                    self.assertIn(text, self.message_of(str(i)))

    def test_names_of_programs(self):
        for name in ("graph", "answers", "inputs"):  # modules
            self.check(self.windrow("exec", name, "--model", "sim:instant"), 2, name)
        done = self.windrow("exec", "self_consistancy", "--model", "sim:instant")
        self.check(done, 2, "self_consistency")

    def test_a_program_whose_name_is_a_file_here(self):
        """What is in the folder does not hide what ships, or is at least not taken in silence."""
        self.write("best_of_n", "return function() return 'mine' end")
        found = self.result_of("./best_of_n", "--model", "sim:instant")
        self.assertEqual(found, "mine")


class Examples(Programs):
    def run_example(self, name, *words):
        return self.windrow("exec", EXAMPLES / f"{name}.lua", "--input",
                            EXAMPLES / f"{name}.jsonl", "-o", f"{name}.results.jsonl", *words)

    def rows_of(self, name):
        return [json.loads(line) for line in (EXAMPLES / f"{name}.jsonl").read_text().splitlines()]

    def test_on_the_demo_model(self):
        for name in EXAMPLES_WITH_THE_DEMO_MODEL:
            with self.subTest(name):
                self.check(self.run_example(name, "--model", DEMO, "--limit", "2"), 0)
                found = self.results(f"{name}.results.jsonl")
                for line in self.rows_of(name)[:2]:
                    result = found[line["custom_id"]]
                    if name == "sorting":
                        digits = [int(digit) for digit in result["sorted"].split()]
                        self.assertEqual(digits, sorted(line["input"]["digits"]))
                    else:
                        self.assertIsInstance(result["sum"], int)

    def test_with_a_server(self):
        with SimUpstream("--token-ms", "0", "--prompt-token-us", "0", "--slots", "64",
                         "--context", "100000") as server:
            for name in EXAMPLES_WITH_A_SERVER:
                with self.subTest(name):
                    self.check(self.run_example(name, "--upstream", server.url, "--program-model",
                                                "any"), 0)
                    self.assertEqual(set(self.results(f"{name}.results.jsonl")),
                                     {line["custom_id"] for line in self.rows_of(name)})

    def test_every_example_is_listed(self):
        names = {path.stem for path in EXAMPLES.glob("*.lua")}
        self.assertEqual(names, set(EXAMPLES_WITH_A_SERVER))
        self.assertEqual(names, {path.stem for path in EXAMPLES.glob("*.jsonl")})


if __name__ == "__main__":
    unittest.main()
