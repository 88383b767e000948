#!/usr/bin/env python3
"""A program that only generates against the same rows through `windrow run`: rows a second.

usage: plain.py [options]; --help lists them

Whole processes in turns, from their start to their end, results synced. Both ask for the same
messages with the same limits, greedily, so both answer alike; that is checked.
"""

import json
import os
import statistics
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "runner"))

from machine import (ROOT, Job, Problem, main, parser_for, print_table, say,  # noqa: E402
                     target)

RATE_MIN = 0.97  # of the rate of `windrow run`
HERE = os.path.dirname(os.path.abspath(__file__))
SYSTEM = "Sort the digits. Answer with all of them, smallest first, separated by spaces."
TOKENS_DIFFER_MAX = 0.01  # a real model rounds differently in other batches

# A time without a pass's time says what a program costs beside its model; it has no target, because
# no model takes none.
HOST = "sim:instant"


def parse():
    parser = parser_for(__doc__.partition("\n")[0])
    parser.add_argument("--models", default=f"sim:,{ROOT}/models/windrow-demo.gguf,{HOST}",
                        metavar="A,B", help="default: sim:, the demo model, and sim:instant")
    parser.add_argument("--rows", type=int, metavar="N",
                        help="of each run (default: 1000; with --full 4000)")
    parser.add_argument("--max-tokens", type=int, default=32, metavar="N",
                        help="of an answer (default: %(default)s)")
    parser.add_argument("--repeats", type=int, default=5, metavar="N",
                        help="of both, in turns (default: %(default)s)")
    return parser


def user_of(number):
    return "Sort: " + " ".join(str(number * 7919 // 3 ** place % 10) for place in range(8))


def write_rows(folder, options, count):
    paths = {name: os.path.join(folder, name + ".jsonl") for name in ("run", "exec")}
    with open(paths["run"], "w", encoding="utf-8") as run, \
            open(paths["exec"], "w", encoding="utf-8") as programs:
        for number in range(count):
            body = {"messages": [{"role": "system", "content": SYSTEM},
                                 {"role": "user", "content": user_of(number)}],
                    "max_tokens": options.max_tokens, "temperature": 0}
            run.write(json.dumps({"custom_id": f"row-{number}", "url": "/v1/chat/completions",
                                  "body": body}) + "\n")
            programs.write(json.dumps({"custom_id": f"row-{number}", "input": {
                "system": SYSTEM, "user": user_of(number),
                "max_tokens": options.max_tokens}}) + "\n")
    return paths


def text_of(kind, body):
    return body["result"] if kind == "exec" else body["choices"][0]["message"]["content"]


def one_run(options, folder, paths, kind, model):
    results = os.path.join(folder, f"{kind}.results.jsonl")
    flags = ["-o", results, "--model", model, "--quiet", "--fresh"]
    if kind == "run":
        # Calls of programs are never answered by another one's answer.
        command = [options.windrow, "run", paths[kind], "--no-dedupe", *flags]
    else:
        command = [options.windrow, "exec", os.path.join(HERE, "plain.lua"), "--input",
                   paths[kind], *flags]
    with Job(command) as job:
        used = job.finish()
    answers, tokens = {}, 0
    with open(results, encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            answers[row["custom_id"]] = text_of(kind, row["response"]["body"])
            tokens += row["response"]["body"]["usage"]["completion_tokens"]
    return {"rows_per_s": len(answers) / used.wall_s, "cpu_s": used.cpu_s, "answers": answers,
            "tokens": tokens}


def check_alike(model, run, program):
    if run["answers"].keys() != program["answers"].keys():
        raise Problem(f"{model}: the runs have not answered the same rows")
    if model.startswith("sim:"):
        if run["answers"] != program["answers"]:
            raise Problem(f"{model}: the program has answered differently")
    elif abs(program["tokens"] / run["tokens"] - 1) > TOKENS_DIFFER_MAX:
        raise Problem(f"{model}: {run['tokens']} tokens by run, {program['tokens']} by the program")


def name_of(model):
    return model if model.startswith("sim:") else os.path.basename(model).removesuffix(".gguf")


def measure(options):
    count = options.rows or (4000 if options.full else 1000)
    figures, targets = {}, {}
    with tempfile.TemporaryDirectory(prefix="windrow-plain-") as folder:
        paths = write_rows(folder, options, count)
        for model in options.models.split(","):
            rates = {"run": [], "exec": []}
            cpu = {"run": [], "exec": []}
            for repeat in range(options.repeats):
                pair = {}
                order = ("run", "exec") if repeat % 2 == 0 else ("exec", "run")
                for kind in order:
                    pair[kind] = one_run(options, folder, paths, kind, model)
                    rates[kind].append(pair[kind]["rows_per_s"])
                    cpu[kind].append(pair[kind]["cpu_s"])
                check_alike(model, pair["run"], pair["exec"])
            name = name_of(model)
            figures[name] = {kind: {"rows_per_s": statistics.median(rates[kind]),
                                    "rows_per_s_all": rates[kind],
                                    "cpu_us_a_row": statistics.median(cpu[kind]) / count * 1e6}
                             for kind in rates}
            ratio = figures[name]["exec"]["rows_per_s"] / figures[name]["run"]["rows_per_s"]
            figures[name]["ratio"] = ratio
            say(f"{name}: {ratio:.3f}")
            if model != HOST:
                targets[f"exec to run, {name}"] = target(ratio, least=RATE_MIN)
    if not options.json:
        print_table(["model", "run rows/s", "exec rows/s", "exec to run", "run CPU us a row",
                     "exec CPU us a row"],
                    [[name, f"{one['run']['rows_per_s']:.1f}", f"{one['exec']['rows_per_s']:.1f}",
                      f"{one['ratio']:.3f}", f"{one['run']['cpu_us_a_row']:.0f}",
                      f"{one['exec']['cpu_us_a_row']:.0f}"] for name, one in figures.items()])
    return {"rows": count, "models": figures, "targets": targets}


if __name__ == "__main__":
    main(parse(), measure)
