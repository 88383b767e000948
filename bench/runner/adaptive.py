#!/usr/bin/env python3
"""Does `--concurrency auto` find the number in flight that a server wants?

usage: adaptive.py [options]; --help lists them

Servers of 1, 4, 16 and 64 slots, and windrow that was not told. From the 30th second on it must
make 95 % of the tokens a second that the best fixed number makes; the fixed ones are measured in
the same way, beside it: the slots, one and a half, and twice as many. All servers run at the same
time; each row waits most of its life, so the cores have little to do.
"""

import concurrent.futures
import os
import tempfile
import time

from machine import Job, Problem, SimUpstream, main, parser_for, print_table, run_command, say, \
    target, write_rows

FOUND_AFTER_S = 30.0
SHARE_MIN = 0.95


def parse():
    parser = parser_for(__doc__.partition("\n")[0])
    parser.add_argument("--slots", default="1,4,16,64", metavar="N,...")
    parser.add_argument("--latency-ms", type=float, default=200.0, metavar="MS",
                        help="of a mean row (default: %(default)s)")
    parser.add_argument("--spread", type=float, default=0.5, metavar="SHARE",
                        help="how far the lengths are from the mean (default: %(default)s)")
    parser.add_argument("--seconds", type=float, metavar="S",
                        help="that are counted (default: 20; with --full 60)")
    return parser


def tokens_per_second(options, folder, slots, concurrency, seconds):
    # All have windrow's ramp behind them when the counting begins.
    flags = ["--slots", str(slots), "--prompt-token-us", "0", "--answer-tokens", "32",
             "--answer-spread", str(options.spread), "--token-ms", str(options.latency_ms / 32)]
    results = os.path.join(folder, f"results-{slots}-{concurrency}.jsonl")
    with SimUpstream(options.windrow, flags) as server:
        command = run_command(options.windrow, os.path.join(folder, "rows.jsonl"), results,
                              server.url, concurrency)
        with Job(command) as job:
            time.sleep(FOUND_AFTER_S)
            before, began = server.answer_tokens(), time.monotonic()
            time.sleep(seconds)
            after, ended = server.answer_tokens(), time.monotonic()
            if not job.running():
                raise Problem(f"windrow ended too early:\n{job.output()}")
    return (after - before) / (ended - began)


def measure(options):
    seconds = options.seconds or (60.0 if options.full else 20.0)
    all_slots = [int(slots) for slots in options.slots.split(",")]
    rate_max = max(all_slots) * 1000 / options.latency_ms
    figures = {"latency_ms": options.latency_ms, "spread": options.spread, "slots": {},
               "targets": {}}
    table = []
    with tempfile.TemporaryDirectory(prefix="windrow-adaptive-") as folder:
        write_rows(os.path.join(folder, "rows.jsonl"),
                   int(rate_max * (FOUND_AFTER_S + seconds + 30) * 2))
        runs = {}
        with concurrent.futures.ThreadPoolExecutor(max_workers=64) as pool:
            for slots in all_slots:
                for concurrency in ["auto", *sorted({slots, -(-slots * 3 // 2), slots * 2})]:
                    runs[slots, concurrency] = pool.submit(
                        tokens_per_second, options, folder, slots, concurrency, seconds)
        rates = {key: run.result() for key, run in runs.items()}
    for slots in all_slots:
        fixed = {key[1]: rate for key, rate in rates.items() if key[0] == slots}
        auto = fixed.pop("auto")
        best = max(fixed, key=fixed.get)
        share = auto / fixed[best]
        figures["slots"][slots] = {"auto": auto, "fixed": fixed, "best": best, "share": share}
        figures["targets"][f"{slots} slots: auto to the best fixed number"] = target(
            share, least=SHARE_MIN)
        table.append([slots, f"{auto:,.1f}", f"{fixed[best]:,.1f}", best, f"{share:.3f}"])
    say("")
    if not options.json:
        print_table(["slots", "tokens/s, auto", "best fixed", "which is", "share"], table)
    return figures


if __name__ == "__main__":
    main(parse(), measure)
