#!/usr/bin/env python3
"""What graph of thought is worth beside asking directly and self-consistency, at equal tokens.

usage: usefulness.py [options]; --help lists them

Sorting 64 digits and adding 16 numbers, which the demo model was not trained to do at once, though
it was to sort 8, to merge, and to add 4. The programs are sort.lua and sum.lua beside this file; a
row is one question and one method. Answers are checked here, against what Python makes of the
question. Each budget gives every method but `direct`, which has one answer, about the same sampled
tokens: its number of candidates is chosen for that, and the tokens that it took are in the table.

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

HERE = os.path.dirname(os.path.abspath(__file__))
Z = 1.959964  # of a 95 % interval
SOME_ROWS_FAILED = 1  # as exit status

# Task -> its program, and what its graph needs.
TASKS = {"sorting": ("sort.lua", {"part": 8}), "sums": ("sum.lua", {"part": 4})}

# Budget -> method -> candidates. A digit takes two tokens with its blank, so 64 digits are 128, and
# a graph with one candidate each samples 8 x 16 + 4 x 32 + 2 x 64 + 128 = 512: four direct answers.
BUDGETS = {
    "sorting": {"one": {"direct": 1},
                "512": {"self_consistency": 4, "best_of_n": 4, "level": 1, "stream": 1},
                "2,048": {"self_consistency": 16, "best_of_n": 16, "level": 4, "stream": 4}},
    "sums": {"one": {"direct": 1},
             "small": {"self_consistency": 2, "level": 1, "stream": 1},
             "large": {"self_consistency": 8, "level": 5, "stream": 5}},
}


def parse():
    parser = parser_for(__doc__.partition("\n")[0])
    parser.add_argument("--model", default=os.path.join(ROOT, "models/windrow-demo.gguf"),
                        metavar="FILE", help="default: models/windrow-demo.gguf")
    parser.add_argument("--tasks", default=",".join(TASKS), help="default: %(default)s")
    parser.add_argument("--questions", type=int, default=200, metavar="N",
                        help="of each seed (default: %(default)s)")
    parser.add_argument("--seeds", default="1", metavar="A,B",
                        help="of questions and of sampling (default: %(default)s)")
    parser.add_argument("--temperature", type=float, default=0.6,
                        help="of what is asked more than once; once is greedy "
                        "(default: %(default)s)")
    parser.add_argument("--top-p", type=float, default=0.95, help="default: %(default)s")
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
    return ((share + square / 2 - half) / (1 + square), (share + square / 2 + half) / (1 + square))


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

    def __init__(self, task, budget, name, candidates):
        self.task, self.budget, self.name, self.candidates = task, budget, name, candidates
        self.count = self.right = self.failed = 0
        self.sampled = self.computed = self.cached = self.passes = self.calls = 0
        self.seconds = []

    def ask(self, options, folder, seed):
        program, extra = TASKS[self.task]
        questions = QUESTIONS[self.task](seed, options.questions)
        greedy = self.candidates == 1
        rows = os.path.join(folder, "rows.jsonl")
        with open(rows, "w", encoding="utf-8") as out:
            for number, question in enumerate(questions):
                out.write(json.dumps({"custom_id": f"{seed}-{number}", "input": {
                    **question["input"], **extra, "method": self.name,
                    "candidates": self.candidates,
                    "temperature": 0 if greedy else options.temperature,
                    "top_p": options.top_p}}) + "\n")
        results = os.path.join(folder, "results.jsonl")
        command = [options.windrow, "exec", os.path.join(HERE, program), "--input", rows, "-o",
                   results, "--model", options.model, "--quiet", "--fresh", *options.flag]
        self.seconds.append(seconds_of(command))
        answers = {line["custom_id"]: line["response"]["body"] for line in lines_of(results)}
        self.count += len(questions)
        self.failed += len(questions) - len(answers)
        shown = 0
        for number, question in enumerate(questions):
            body = answers.get(f"{seed}-{number}")
            if body is None:
                continue
            self.take(body)
            if body["result"]["answer"] == question["answer"]:
                self.right += 1
            elif shown < options.show_wrong:
                shown += 1
                say(f"{self.name}: {body['result']['answer']} and not {question['answer']}")

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
        if task not in TASKS:
            raise Problem(f"no such task: {task}; there are {', '.join(TASKS)}")
        methods = [Method(task, budget, name, candidates)
                   for budget, named in BUDGETS[task].items()
                   for name, candidates in named.items()]
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
