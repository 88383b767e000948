#!/usr/bin/env python3
"""The job of 170,000 rows on 8 slots, rehearsed with its latencies scaled down.

usage: rehearsal.py [options]; --help lists them

A server with 8 slots and one with 1 answer files of 10 to 170,000 rows, with the number in flight
that windrow finds by itself. All answers take equally long, so N rows on 8 slots can be at best
N / ceil(N / 8) times as fast as on one. Rates are of whole processes: a tenth of a second for
starting and ending shows in the small files. One slot gets at most 1,000 rows of a file.
"""

import math
import os
import tempfile

from machine import (Job, SimUpstream, check_results, main, parser_for, print_table, run_command,
                     say, target, write_rows)

SLOTS = 8
SPEED_UP_MIN = 7.8
ROWS_OF_TARGET_MIN = 1000  # from here on 7.8 is possible beside the start of a process
ROWS_OF_ONE_SLOT_MAX = 1000
ANSWER_TOKENS = 16


def parse():
    parser = parser_for(__doc__.partition("\n")[0])
    parser.add_argument("--rows", metavar="N,...",
                        help="(default: 10,100,1000,5000; with --full also 170000)")
    parser.add_argument("--latency-ms", type=float, default=40.0, metavar="MS",
                        help="of one row (default: %(default)s)")
    parser.add_argument("--concurrency", default="auto", metavar="N|auto")
    return parser


def timed(options, folder, slots, rows):
    flags = ["--slots", str(slots), "--prompt-token-us", "0", "--answer-tokens",
             str(ANSWER_TOKENS), "--answer-spread", "0", "--queue", "100000",
             "--token-ms", str(options.latency_ms / ANSWER_TOKENS)]
    source = os.path.join(folder, "rows.jsonl")
    results = os.path.join(folder, f"results-{slots}-{rows}.jsonl")
    write_rows(source, rows)
    with SimUpstream(options.windrow, flags) as server:
        with Job(run_command(options.windrow, source, results, server.url,
                             options.concurrency)) as job:
            used = job.finish()
    check_results(results, rows)
    say(f"{slots} slots, {rows:,} rows: {used.rate(rows):,.1f} a second")
    return used


def measure(options):
    sizes = options.rows or "10,100,1000,5000" + (",170000" if options.full else "")
    figures = {"latency_ms": options.latency_ms, "sizes": {}, "targets": {}}
    table = []
    with tempfile.TemporaryDirectory(prefix="windrow-rehearsal-") as folder:
        of_one = {}
        for rows in map(int, sizes.split(",")):
            rows_of_one = min(rows, ROWS_OF_ONE_SLOT_MAX)
            if rows_of_one not in of_one:
                of_one[rows_of_one] = timed(options, folder, 1, rows_of_one).rate(rows_of_one)
            one = of_one[rows_of_one]
            used = timed(options, folder, SLOTS, rows)
            speed_up = used.rate(rows) / one
            best = rows / math.ceil(rows / SLOTS)
            figures["sizes"][rows] = {"slots": SLOTS, "rate": used.rate(rows), "rate_of_one": one,
                                      "rows_of_one": rows_of_one, "speed_up": speed_up,
                                      "at_best": best, "cpu_s": used.cpu_s}
            table.append([f"{rows:,}", f"{one:,.1f}", f"{used.rate(rows):,.1f}",
                          f"{speed_up:.2f}", f"{best:.2f}", f"{used.cpu_s:.1f} s"])
            if rows >= ROWS_OF_TARGET_MIN:
                figures["targets"][f"{rows:,} rows: 8 slots to one"] = target(
                    speed_up, least=SPEED_UP_MIN)
    if not options.json:
        print_table(["rows", "rows/s, 1 slot", "8 slots", "times", "at best", "of a core"], table)
    return figures


if __name__ == "__main__":
    main(parse(), measure)
