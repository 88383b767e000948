#!/usr/bin/env python3
"""bench_threads under each setting of the OpenMP runtime, in turns.

usage: policies.py MODEL [options of bench_threads]

Medians of the means of --rounds runs each (default 5), and each to the runtime's own choice. Turns,
because a neighbour on the machine comes and goes.
"""

import collections
import json
import os
import statistics
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = os.path.join(ROOT, "build/bench/bench/bench_threads")
POLICIES = {
    "unset": {},
    "active": {"OMP_WAIT_POLICY": "active"},
    "spin 10000": {"GOMP_SPINCOUNT": "10000"},
    "spin 1000": {"GOMP_SPINCOUNT": "1000"},
    "passive": {"OMP_WAIT_POLICY": "passive"},
}


def measure(setting, arguments):
    environment = {name: value for name, value in os.environ.items()
                   if name not in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")}
    done = subprocess.run([PROGRAM, *arguments], env={**environment, **setting}, text=True,
                          stdout=subprocess.PIPE, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def main():
    arguments = sys.argv[1:]
    if not arguments or arguments[0] in ("-h", "--help"):
        sys.exit(__doc__.strip())
    rounds = 5
    if "--rounds" in arguments:
        at = arguments.index("--rounds")
        rounds = int(arguments[at + 1])
        del arguments[at:at + 2]
    means = collections.defaultdict(lambda: collections.defaultdict(list))
    for _ in range(rounds):
        for policy, setting in POLICIES.items():
            for line in measure(setting, arguments):
                shape = (line["rows"], line["threads"], line["neighbours"])
                means[shape][policy].append(line["mean_ms"])
    print("rows  threads  neighbours  " + "  ".join(f"{name:>16}" for name in POLICIES))
    for shape, of_policy in means.items():
        usual = statistics.median(of_policy["unset"])
        cells = []
        for policy in POLICIES:
            median = statistics.median(of_policy[policy])
            cells.append(f"{median:8.1f} ({median / usual:4.2f})")
        print(f"{shape[0]:4}  {shape[1]:7}  {shape[2]:10}  " + "  ".join(f"{c:>16}" for c in cells))


if __name__ == "__main__":
    main()
