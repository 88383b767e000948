#!/usr/bin/env python3
"""Scored prompts, as an evaluation harness asks for them: what sharing their beginnings is worth.

usage: scoring.py [options]; --help lists them

Every question begins with the same examples and comes once with each of its choices behind it, in
any order: `echo` with `max_tokens: 0`, the log-probability of every token. The same rows run with
`--no-share`, and once more as prompts that are answered with one token: their sharing is what
scoring should reach.
"""

import json
import os
import random
import tempfile

from machine import ROOT, Job, Problem, main, parser_for, print_table, say, target

SPEED_MIN = 5  # times the rows/s without sharing
SHARE_MIN = 0.95  # of what answered prompts share

WORDS = ("the house of water day and night people work town river market bread light stone road "
         "green old new small").split()


def parse():
    parser = parser_for(__doc__.partition("\n")[0])
    parser.add_argument("--model", default=os.path.join(ROOT, "models/windrow-demo.gguf"),
                        metavar="FILE", help="default: models/windrow-demo.gguf")
    parser.add_argument("--questions", type=int, metavar="N", help="default: 100; with --full 500")
    parser.add_argument("--choices", type=int, default=4, metavar="N",
                        help="of each question (default: %(default)s)")
    parser.add_argument("--examples", type=int, default=5, metavar="N",
                        help="in front of each question (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=5, metavar="N")
    return parser


def prompts(options, questions):
    rng = random.Random(options.seed)

    def text(count):
        return " ".join(rng.choice(WORDS) for _ in range(count))

    examples = "\n".join(f"Question: {text(25)}? Answer: {text(8)}."
                         for _ in range(options.examples))
    made = []
    for _ in range(questions):
        question = f"{examples}\nQuestion: {text(30)}? Answer:"
        made += [f"{question} {text(8)}" for _ in range(options.choices)]
    rng.shuffle(made)
    return made


def write_rows(path, texts, body):
    with open(path, "w", encoding="utf-8") as out:
        for number, text in enumerate(texts):
            out.write(json.dumps({"custom_id": f"row-{number}", "method": "POST",
                                  "url": "/v1/completions",
                                  "body": {"model": "any", "prompt": text, **body}}) + "\n")


def run(options, folder, name, rows, *more):
    results = os.path.join(folder, name + ".results.jsonl")
    with Job([options.windrow, "run", rows, "-o", results, "--model", options.model, "--quiet",
              *more]) as job:
        used = job.finish()
    figures = {"rows": 0, "prompt_tokens": 0, "shared_tokens": 0, "wall_s": round(used.wall_s, 2)}
    with open(results, encoding="utf-8") as lines:
        for line in lines:
            usage = json.loads(line)["response"]["body"]["usage"]
            figures["rows"] += 1
            figures["prompt_tokens"] += usage["prompt_tokens"]
            figures["shared_tokens"] += usage["prompt_tokens_details"]["cached_tokens"]
    if figures["rows"] == 0:
        raise Problem(f"{results} has no rows")
    figures["rows_per_s"] = figures["rows"] / used.wall_s
    figures["shared"] = figures["shared_tokens"] / figures["prompt_tokens"]
    say(f"{name}: {figures['rows_per_s']:.1f} rows/s, {figures['shared']:.1%} shared")
    return figures


def measure(options):
    questions = options.questions or (500 if options.full else 100)
    texts = prompts(options, questions)
    with tempfile.TemporaryDirectory(prefix="windrow-scoring-") as folder:
        scored = os.path.join(folder, "scored.jsonl")
        answered = os.path.join(folder, "answered.jsonl")
        write_rows(scored, texts, {"max_tokens": 0, "echo": True, "logprobs": 1})
        write_rows(answered, texts, {"max_tokens": 1})
        runs = {"scored, --no-share": run(options, folder, "alone", scored, "--no-share"),
                "scored": run(options, folder, "scored", scored),
                "answered": run(options, folder, "answered", answered)}
    alone, shared = runs["scored, --no-share"], runs["scored"]
    if not options.json:
        print_table(["rows", "rows/s", "prompt tokens", "computed", "shared"],
                    [[name, f"{one['rows_per_s']:.1f}", f"{one['prompt_tokens']:,}",
                      f"{one['prompt_tokens'] - one['shared_tokens']:,}", f"{one['shared']:.1%}"]
                     for name, one in runs.items()])
    return {"questions": questions, "choices": options.choices, "runs": runs, "targets": {
        "rows/s of scoring to --no-share": target(
            shared["rows_per_s"] / alone["rows_per_s"], least=SPEED_MIN),
        "sharing of scored prompts to answered ones": target(
            shared["shared"] / runs["answered"]["shared"], least=SHARE_MIN)}}


if __name__ == "__main__":
    main(parse(), measure)
