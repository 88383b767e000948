#!/usr/bin/env python3
"""The most memory a job takes, and how long it takes to see that all of it is done.

usage: memory.py [options]; --help lists them

nginx answers, with a reply as short as one can be, so that the files stay small. The second run of
the same command finds every row finished; its time is that of the whole process.
"""

import os
import tempfile

from machine import Job, Nginx, check_results, main, parser_for, print_table, run_command, say, \
    target, write_rows

BYTES_FIXED = 100_000_000
BYTES_OF_A_ROW = 16
RESUME_ROWS = 1_000_000
RESUME_SECONDS_MAX = 5.0


def parse():
    parser = parser_for(__doc__.partition("\n")[0])
    parser.add_argument("--rows", metavar="N,...",
                        help="(default: 200000,1000000; with --full 1000000,10000000)")
    parser.add_argument("--concurrency", default="64", metavar="N|auto")
    parser.add_argument("--folder", metavar="DIR", help="where the files lie meanwhile: "
                        "700 bytes for each row (default: the usual one for temporary files)")
    return parser


def short_body(number):
    return {"model": "sim", "messages": [{"role": "user", "content": str(number)}]}


def measure_rows(options, rows, url):
    with tempfile.TemporaryDirectory(prefix="windrow-memory-", dir=options.folder) as folder:
        source = os.path.join(folder, "rows.jsonl")
        results = os.path.join(folder, "results.jsonl")
        write_rows(source, rows, short_body)
        command = run_command(options.windrow, source, results, url, options.concurrency)
        with Job(command, limit_s=3600) as job:
            first = job.finish()
        say(f"{rows:,} rows: {first.rate(rows):,.0f} a second")
        if rows <= RESUME_ROWS:  # the check itself would take minutes and gigabytes
            check_results(results, rows)
        with Job(command, limit_s=600) as job:
            again = job.finish()
        return first, again


def measure(options):
    sizes = options.rows or ("1000000,10000000" if options.full else "200000,1000000")
    figures = {"sizes": {}, "targets": {}}
    table = []
    with Nginx() as server:
        for rows in map(int, sizes.split(",")):
            first, again = measure_rows(options, rows, server.url)
            figures["sizes"][rows] = {"first": first.figures(rows), "again": again.figures(rows)}
            bound = BYTES_FIXED + BYTES_OF_A_ROW * rows
            most = max(first.rss_bytes, again.rss_bytes)
            figures["targets"][f"{rows:,} rows: MB, the first run or the second"] = target(
                most / 1e6, most=bound / 1e6)
            if rows == RESUME_ROWS:
                figures["targets"][f"{rows:,} finished rows: seconds to resume"] = target(
                    again.wall_s, most=RESUME_SECONDS_MAX)
            megabytes = [f"{size / 1e6:.0f} MB"
                         for size in (first.rss_bytes, again.rss_bytes, bound)]
            table.append([f"{rows:,}", f"{first.rate(rows):,.0f}", *megabytes,
                          f"{again.wall_s:.2f} s", f"{again.cpu_s:.2f} s"])
    if not options.json:
        print_table(["rows", "rows/s", "first run", "second run", "may be", "second run took",
                     "of a core"], table)
    return figures


if __name__ == "__main__":
    main(parse(), measure)
