#!/usr/bin/env python3
"""Has ajv judge what the grammars of random schemas accept, and what walks through them write.

usage: check_answers.py --ours PROGRAM --module FOLDER [options]; --help lists them

PROGRAM is structured_answers, FOLDER the node_modules with ajv. Must hold, with ajv's verdict on
the closed form of the schema (draft 2020-12, made by the generator):

    every schema has a grammar (*)      every walk ends, and what it wrote is valid
    every valid instance is accepted    no near miss that is invalid is accepted

(*) but for some that are refused because a pattern has too many states. Windrow's own validator
must say of each text what ajv says. WINDROW_SOAK=1 takes thirty times as many schemas.
"""

import argparse
import collections
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SHOWN_MAX = 10  # faults of each kind
TOO_LARGE_MAX = 0.05  # of the schemas: random patterns have automata of any size


def lines_of(command, text=None):
    done = subprocess.run(command, input=text, stdout=subprocess.PIPE, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{command[0]} ended with {done.returncode}")
    return [json.loads(line) for line in done.stdout.decode().split("\n") if line]


def judged(module, trials):
    cases = [{"schema": trial["schema"], "texts": [text["text"] for text in trial.get("texts", [])]}
             for trial in trials]
    text = "".join(json.dumps(case) + "\n" for case in cases).encode()
    answers = lines_of(["node", os.path.join(HERE, "judge.mjs"), module], text)
    if len(answers) != len(trials):
        raise SystemExit(f"the judge gave {len(answers)} answers to {len(trials)} schemas")
    return answers


def faults_of_text(text, wrong):
    """What does not hold of one text, as (what, more); `wrong` is what ajv says of it."""
    kind = text["kind"]
    if kind == "walk" and "fault" in text:
        yield "a walk does not end", text["fault"]
        return
    if wrong is None and kind == "instance" and not text["accepted"]:
        yield "a valid instance is not accepted", text["text"]
    if wrong is not None:
        what = {"walk": "a walk wrote what is invalid",
                "instance": "the generator's instance is invalid"}.get(kind)
        if kind == "near miss" and text["accepted"]:
            what = "what is invalid is accepted"
        if what:
            yield what, f"{wrong}: {text['text']}"
    if "valid" in text and text["valid"] != (wrong is None):
        yield ("the validator says otherwise than ajv",
               f"{text.get('violation', 'valid')} (ajv: {wrong or 'valid'}): {text['text']}")


def parse():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--ours", required=True, metavar="PROGRAM")
    parser.add_argument("--module", required=True, metavar="FOLDER")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    parser.add_argument("--schemas", type=int, default=64, metavar="N")
    parser.add_argument("--flexible", action="store_true", help="whitespace")
    parser.add_argument("--show", action="store_true", help="the schema of each fault")
    return parser.parse_args()


def main():
    arguments = parse()
    schemas = arguments.schemas * (30 if os.environ.get("WINDROW_SOAK") else 1)
    command = [arguments.ours, "--seed", str(arguments.seed), "--schemas", str(schemas)]
    if arguments.flexible:
        command.append("--flexible")
    trials = lines_of(command)
    counts = collections.Counter()
    too_large = 0
    faults = collections.defaultdict(list)
    for trial, verdict in zip(trials, judged(arguments.module, trials)):
        found = []
        if "more than" in trial.get("refusal", "") and "states" in trial["refusal"]:
            too_large += 1
        elif "refusal" in trial:
            found.append(("a schema is refused", trial["refusal"]))
        if "validator_refusal" in trial:
            found.append(("the validator refuses a schema", trial["validator_refusal"]))
        if "failed" in verdict:
            found.append(("ajv does not take a schema", verdict["failed"]))
        for text, wrong in zip(trial.get("texts", []), verdict.get("wrong", [])):
            counts[f"{text['kind']}, {'invalid' if wrong else 'valid'}"] += 1
            found.extend(faults_of_text(text, wrong))
        for what, more in found:
            faults[what].append((trial["name"], more, trial["written"]))
    for what, cases in faults.items():
        print(f"{what}: {len(cases)} times")
        for name, more, written in cases[:SHOWN_MAX]:
            print(f"  {name}: {more[:400]}")
            if arguments.show:
                print(f"    {json.dumps(written, ensure_ascii=False)}")
    print(f"seed {arguments.seed}: {len(trials)} schemas, {too_large} refused as too large; "
          + ", ".join(f"{count} x {kind}" for kind, count in sorted(counts.items())))
    if not counts["near miss, invalid"] or not counts["walk, valid"]:
        print("nothing was judged")
        return 1
    if too_large > len(trials) * TOO_LARGE_MAX:
        print("too many are refused as too large")
        return 1
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
