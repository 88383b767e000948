#!/usr/bin/env python3
"""Renders every template of corpus/ over all conversations with three engines and compares.

usage: check_corpus.py --ours PROGRAM [--module FOLDER] [--fuzz COUNT] [--seed N] [--only NAME]

jinja2 is the authority: ours must give the same bytes, fail where it fails, and refuse with the
same message. With --module also @huggingface/jinja is held against jinja2; where that engine is
known to differ, exceptions.py says why. Exits 1 when anything differs.
"""

import argparse
import glob
import os
import sys

import conversations
import engines
import exceptions
import oracle

HERE = os.path.dirname(os.path.abspath(__file__))


def same(expected, got):
    if "failed" in expected:
        return "failed" in got
    return expected == got


def shown(answer, width=600):
    text = repr(answer)
    return text if len(text) <= width else text[:width] + "..."


def first_difference(expected, got):
    a, b = expected.get("text"), got.get("text")
    if a is None or b is None:
        return f"   wanted {shown(expected)}\n   got    {shown(got)}"
    at = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
    begin, end = max(0, at - 60), at + 100
    return f"   wanted ...{a[begin:end]!r}\n   got    ...{b[begin:end]!r}"


class Report:
    def __init__(self, name):
        self.name = name
        self.compared = 0
        self.differences = []

    def add(self, case, expected, got):
        self.compared += 1
        if not same(expected, got):
            self.differences.append((case, expected, got))

    def print(self, most=3):
        for case, expected, got in self.differences[:most]:
            print(f"{self.name}: {case}\n{first_difference(expected, got)}")
        if len(self.differences) > most:
            print(f"{self.name}: {len(self.differences) - most} more")


def cases_of(source, arguments, name):
    cases = list(conversations.matrix())
    cases += conversations.fuzzed(f"{arguments.seed} {name}", arguments.fuzz)
    return [(case, {"template": source, "variables": variables}) for case, variables in cases]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--ours", required=True)
    parser.add_argument("--module")
    parser.add_argument("--fuzz", type=int, default=60 if engines.SOAK else 15)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only")
    arguments = parser.parse_args()
    failed = False
    texts = 0
    used = set()
    for path in sorted(glob.glob(os.path.join(HERE, "corpus", "*.jinja"))):
        name = os.path.basename(path)[:-len(".jinja")]
        if arguments.only and arguments.only != name:
            continue
        with open(path, encoding="utf-8", newline="") as file:
            source = file.read()
        cases = cases_of(source, arguments, name)
        requests = [request for _, request in cases]
        expected = [oracle.render(source, request["variables"]) for request in requests]
        reports = [(Report(f"{name} (ours)"), engines.ours(arguments.ours, requests))]
        if arguments.module:
            # JavaScript has other numbers, which random conversations are full of.
            count = len(list(conversations.matrix()))
            reports.append((Report(f"{name} (@huggingface/jinja)"),
                            engines.hugging_face(arguments.module, requests[:count])))
        for report, answers in reports:
            for (case, _), wanted, got in zip(cases, expected, answers):
                if wanted is None:
                    continue
                if "ours" not in report.name and not same(wanted, got):
                    reason = exceptions.reason(source, case, wanted, got)
                    if reason:
                        used.add(reason)
                        continue
                report.add(case, wanted, got)
            report.print()
            failed |= bool(report.differences)
        rendered = sum("text" in e for e in expected if e)
        texts += rendered
        print(f"{name}: {len(cases)} cases, {rendered} rendered, "
              f"{sum('raised' in e for e in expected if e)} refused, "
              f"{sum('failed' in e for e in expected if e)} failed; "
              f"differences: {', '.join(str(len(r.differences)) for r, _ in reports)}")
    print(f"{texts} texts compared")
    if texts == 0:
        print("nothing was rendered")
        failed = True
    if arguments.module and not arguments.only:
        for reason in sorted(set(exceptions.REASONS) - used):
            print(f"exceptions.py: no case needs '{reason}' any more")
            failed = True
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
