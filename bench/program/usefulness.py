#!/usr/bin/env python3
"""What graph of thought is worth beside asking directly and self-consistency, at equal tokens.

usage: usefulness.py [options]; --help lists them

Sorting 64 digits and adding 16 numbers, which the demo model was not trained to do at once, though
it was to sort 8, to merge, and to add 4; and adding 4 numbers of three digits, at which it is often
wrong. Graphs are examples/programs/sorting.lua and sums.lua, the others baseline.lua beside this
file and shipped programs. Answers are checked here. The number of candidates makes the methods of
one budget sample about the same tokens; what they took is in the table.

Accuracy is that of all seeds together, with the 95 % interval of Wilson. Tokens, passes and calls
are means of a question; a pass counts for each question that had a row in it. Seconds are those of
the whole process for all questions of a seed, model loading included.
"""

import json
import math
import os
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "runner"))

from machine import ROOT, Job, Problem, main, parser_for, print_table, say  # noqa: E402
from questions import QUESTIONS  # noqa: E402

Z = 1.959964  # of a 95 % interval
SOME_ROWS_FAILED = 1  # as exit status

SORT = "Sort the digits. Answer with all of them, smallest first, separated by spaces."
ADD = 'Add the numbers. Answer as JSON: {"steps":[running sums],"sum":total}.'


def asked(system, question, max_tokens, **more):
    """The input of baseline.lua."""
    def made(listed, method, candidates):
        return {"system": system, "question": question(listed), "max_tokens": max_tokens(listed),
                "method": "best_of_n" if method == "best of n" else "vote",
                "candidates": candidates,
                **{name: value(listed) for name, value in more.items()}}
    return "bench/program/baseline.lua", made


def sorting_graph(listed, method, candidates):
    return {"digits": listed, "part": 8, "samples": candidates, "schedule": method.split(" ")[-1]}


def map_reduced(listed, _method, _candidates):
    """The shipped program with the words of the demo model: parts are sorted, findings merged."""
    parts = [listed[i:i + 8] for i in range(0, len(listed), 8)]
    return {"question": "-", "parts": [" ".join(map(str, part)) for part in parts],
            "map_tokens": 24, "reduce_tokens": 2 * len(listed) + 8,
            "prompts": {"system": SORT, "map": "Sort: {part}", "join": "Merge:\nA: {a}\nB: {b}"}}


def answered(program, **more):
    """A shipped program that answers one question several times, in the words of the demo model."""
    def made(listed, _method, candidates):
        return {"question": "Add: " + " + ".join(map(str, listed)), "samples": candidates,
                "max_tokens": 8 * len(listed) + 24, "temperature": 0.6,
                "prompts": {"system": ADD, "question": "{question}"}, **more}
    return f"programs/{program}.lua", made


def sums_graph(listed, method, _candidates):
    return {"numbers": listed, "group": 4, "schedule": method.split(" ")[-1]}


SORTED_AT_ONCE = asked(SORT, lambda listed: "Sort: " + " ".join(map(str, listed)),
                       lambda listed: 2 * len(listed) + 8, digits=lambda listed: listed)
ADDED_AT_ONCE = asked(ADD, lambda listed: "Add: " + " + ".join(map(str, listed)),
                      lambda listed: 8 * len(listed) + 24, number=lambda _: True)
SORTING_GRAPH = ("examples/programs/sorting.lua", sorting_graph)
MAP_REDUCE = ("programs/map_reduce.lua", map_reduced)
SUMS_GRAPH = ("examples/programs/sums.lua", sums_graph)

# Budget, method, candidates, program with its inputs. A digit takes two tokens with its blank, so
# 64 digits are 128, and a graph with one candidate of each samples 8 x 16 + 4 x 32 + 2 x 64 + 128 =
# 512: as many as four direct answers.
METHODS = {
    "sorting": [("128", "direct", 1, SORTED_AT_ONCE),
                ("512", "self-consistency", 4, SORTED_AT_ONCE),
                ("512", "best of n", 4, SORTED_AT_ONCE),
                ("512", "graph, level", 1, SORTING_GRAPH),
                ("512", "graph, stream", 1, SORTING_GRAPH),
                ("512", "map_reduce", 1, MAP_REDUCE),
                ("2,048", "self-consistency", 16, SORTED_AT_ONCE),
                ("2,048", "best of n", 16, SORTED_AT_ONCE),
                ("2,048", "graph, level", 4, SORTING_GRAPH),
                ("2,048", "graph, stream", 4, SORTING_GRAPH)],
    "sums": [("one answer", "direct", 1, ADDED_AT_ONCE),
             ("two answers", "self-consistency", 2, ADDED_AT_ONCE),
             ("two answers", "graph, level", 1, SUMS_GRAPH),
             ("two answers", "graph, stream", 1, SUMS_GRAPH),
             ("many", "self-consistency", 16, ADDED_AT_ONCE)],
    "four_numbers": [("one answer", "direct", 1, ADDED_AT_ONCE),
                     ("8 answers", "self_consistency", 8, answered("self_consistency")),
                     ("8 answers", "best_of_n, likelihood", 8, answered("best_of_n")),
                     ("8 answers", "best_of_n, model", 8, answered("best_of_n", judge="model"))],
}


def answer_of(task, result):
    if task != "sorting":
        sum_of = result.get("sum", result.get("answer"))
        return int(sum_of) if str(sum_of).isdigit() else None
    text = result.get("sorted") or result.get("answer") or ""
    return [int(word) for word in text.split() if word.isdigit()]


def parse():
    parser = parser_for(__doc__.partition("\n")[0])
    parser.add_argument("--model", default=os.path.join(ROOT, "models/windrow-demo.gguf"),
                        metavar="FILE", help="default: models/windrow-demo.gguf")
    parser.add_argument("--tasks", default=",".join(METHODS), help="default: %(default)s")
    parser.add_argument("--budgets", metavar="A;B",
                        help="only methods of these, such as '128;512' (default: all)")
    parser.add_argument("--questions", type=int, default=200, metavar="N",
                        help="of each seed (default: %(default)s)")
    parser.add_argument("--seeds", default="1", metavar="A,B",
                        help="of the questions (default: %(default)s)")
    parser.add_argument("--flag", action="append", default=[], metavar="FLAG",
                        help="one more for windrow exec, such as --flag=--rows-max=128")
    parser.add_argument("--markdown", action="store_true", help="tables for the documents")
    parser.add_argument("--show-wrong", type=int, default=0, metavar="N",
                        help="the first N wrong answers of each method")
    return parser


def wilson(right, count):
    if count == 0:
        return 0.0, 1.0
    share, square = right / count, Z * Z / count
    half = Z * math.sqrt(share * (1 - share) / count + square / 4 / count)
    return (max((share + square / 2 - half) / (1 + square), 0.0),
            min((share + square / 2 + half) / (1 + square), 1.0))


def lines_of(path):
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def seconds_of(command):
    """Of the whole process. Rows that fail are no error here: they are answers that are wrong."""
    with Job(command) as job:
        try:
            return job.finish().wall_s
        except Problem:
            if job.process.returncode != SOME_ROWS_FAILED:
                raise
            return time.monotonic() - job.began


class Method:
    """What one method came to, over all seeds."""

    def __init__(self, task, budget, name, candidates, program):
        self.task, self.budget, self.name, self.candidates = task, budget, name, candidates
        self.program, self.input_of = program
        self.count = self.right = self.failed = 0
        self.sampled = self.computed = self.cached = self.passes = self.calls = 0
        self.seconds = []

    def ask(self, options, folder, seed):
        questions = QUESTIONS[self.task](seed, options.questions)
        rows = os.path.join(folder, "rows.jsonl")
        with open(rows, "w", encoding="utf-8") as out:
            for number, (listed, _) in enumerate(questions):
                out.write(json.dumps({
                    "custom_id": f"{seed}-{number}",
                    "input": self.input_of(listed, self.name, self.candidates)}) + "\n")
        results = os.path.join(folder, "results.jsonl")
        command = [options.windrow, "exec", os.path.join(ROOT, self.program), "--input", rows, "-o",
                   results, "--model", options.model, "--quiet", "--fresh", *options.flag]
        self.seconds.append(seconds_of(command))
        answers = {line["custom_id"]: line["response"]["body"] for line in lines_of(results)}
        self.count += len(questions)
        self.failed += len(questions) - len(answers)
        shown = 0
        for number, (_, right) in enumerate(questions):
            body = answers.get(f"{seed}-{number}")
            if body is None:
                continue
            self.take(body)
            answer = answer_of(self.task, body["result"])
            if answer == right:
                self.right += 1
            elif shown < options.show_wrong:
                shown += 1
                say(f"{self.name}: {answer} and not {right}")

    def take(self, body):
        usage = body["usage"]
        cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens", 0)
        self.sampled += usage["completion_tokens"]
        self.computed += usage["prompt_tokens"] - cached
        self.cached += cached
        self.passes += body["program_usage"]["passes"]
        self.calls += body["program_usage"]["calls"]

    def figures(self):
        low, high = wilson(self.right, self.count)
        answered = max(self.count - self.failed, 1)
        return {"budget": self.budget, "method": self.name, "candidates": self.candidates,
                "questions": self.count, "right": self.right, "failed": self.failed,
                "accuracy": self.right / max(self.count, 1), "wilson95": [low, high],
                "sampled_tokens": self.sampled / answered,
                "prompt_tokens_computed": self.computed / answered,
                "prompt_tokens_cached": self.cached / answered, "calls": self.calls / answered,
                "passes": self.passes / answered, "seconds_a_seed": self.seconds}

    def cells(self):
        one = self.figures()
        low, high = one["wilson95"]
        seconds = sum(self.seconds) / len(self.seconds)
        return [one["budget"], one["method"], str(one["candidates"]), f"{one['accuracy']:.1%}",
                f"{low:.1%} to {high:.1%}", f"{one['calls']:.1f}", f"{one['sampled_tokens']:.0f}",
                f"{one['prompt_tokens_computed']:.0f}", f"{one['prompt_tokens_cached']:.0f}",
                f"{one['passes']:.0f}", f"{seconds:.1f}"]


HEAD = ["budget", "method", "candidates", "right", "95 % interval", "calls", "sampled",
        "prompt computed", "prompt cached", "passes", "seconds"]


def show(options, task, methods):
    rows = [method.cells() for method in methods]
    title = f"{task}, {methods[0].count} questions"
    if options.markdown:
        print(f"{title}\n\n| {' | '.join(HEAD)} |\n|{'---|' * len(HEAD)}")
        for row in rows:
            print(f"| {' | '.join(row)} |")
    else:
        print(title)
        print_table(HEAD, rows)
    print()


def measure(options):
    seeds = [int(seed) for seed in options.seeds.split(",")]
    figures = {}
    for task in options.tasks.split(","):
        if task not in METHODS:
            raise Problem(f"no such task: {task}; there are {', '.join(METHODS)}")
        methods = [Method(task, *one) for one in METHODS[task]
                   if not options.budgets or one[0] in options.budgets.split(";")]
        if not methods:
            raise Problem(f"{task} has no budget among {options.budgets}; there are "
                          + "; ".join(dict.fromkeys(one[0] for one in METHODS[task])))
        with tempfile.TemporaryDirectory(prefix="windrow-usefulness-") as folder:
            for seed in seeds:
                for method in methods:
                    method.ask(options, folder, seed)
                    say(f"{task}, seed {seed}: {method.name} with {method.candidates}: "
                        f"{method.right} of {method.count} right so far")
        if not options.json:
            show(options, task, methods)
        figures[task] = [method.figures() for method in methods]
    return {"model": os.path.basename(options.model), "seeds": seeds,
            "questions_a_seed": options.questions, "tasks": figures, "targets": {}}


if __name__ == "__main__":
    main(parse(), measure)
