#!/usr/bin/env python3
"""Rows of many groups, shuffled, for a server with a small cache of prefixes.

usage: prefixes.py [options]; --help lists them

200 groups of rows begin alike, each with its own system prompt, and lie in the file in any order.
The server has 4 slots and remembers as many prefixes as --remembered says. It counts the tokens
that it need not compute again. The peer is the same rows perfectly sorted, sent in that order by
the aiohttp client with as many in flight; shuffled, that client shows what order is worth.
"""

import os
import random
import tempfile

from machine import (HERE, Job, SimUpstream, check_results, main, parser_for, print_table,
                     python_with_aiohttp, run_command, say, target, write_rows)

SLOTS = 4
BLOCK_TOKENS = 16
BYTES_OF_A_TOKEN = 4
SHARE_MIN = 0.9


def parse():
    parser = parser_for(__doc__.partition("\n")[0])
    parser.add_argument("--groups", type=int, default=200, metavar="N")
    parser.add_argument("--each", type=int, metavar="N",
                        help="rows of a group (default: 20; with --full 100)")
    parser.add_argument("--shared", type=int, default=400, metavar="TOKENS",
                        help="that a group begins with (default: %(default)s)")
    parser.add_argument("--remembered", type=int, default=16, metavar="N",
                        help="prefixes that the server's cache holds (default: %(default)s)")
    parser.add_argument("--concurrency", default="auto", metavar="N|auto")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    return parser


def words(rng, count):
    return " ".join(rng.choice(("river", "stone", "house", "cloud", "field", "paper"))
                    for _ in range(count))


def bodies(options, each):
    rng = random.Random(options.seed)
    text_bytes = options.shared * BYTES_OF_A_TOKEN
    beginnings = [(f"Group {group}. " + words(rng, text_bytes // 5))[:text_bytes]
                  for group in range(options.groups)]
    return [{"model": "sim", "max_tokens": 8, "messages": [
        {"role": "system", "content": beginning},
        {"role": "user", "content": f"{number}: " + words(rng, 8)}]}
        for beginning in beginnings for number in range(each)]


def cached_tokens(options, command_for, folder, rows):
    blocks = options.remembered * (options.shared // BLOCK_TOKENS + 2)
    flags = ["--slots", str(SLOTS), "--prefix-blocks", str(blocks), "--answer-tokens", "4",
             "--token-ms", "1", "--prompt-token-us", "20", "--queue", "100000"]
    results = os.path.join(folder, "results.jsonl")
    for name in os.listdir(folder):
        if name.startswith("results."):
            os.unlink(os.path.join(folder, name))
    with SimUpstream(options.windrow, flags) as server:
        with Job(command_for(results, server.url)) as job:
            used = job.finish()
        stats = server.end()
    check_results(results, rows)
    return {"cached_tokens": stats["cached_tokens"], "prompt_tokens": stats["prompt_tokens"],
            "wall_s": used.wall_s}


def measure(options):
    each = options.each or (100 if options.full else 20)
    in_order = bodies(options, each)
    shuffled = in_order[:]
    random.Random(options.seed + 1).shuffle(shuffled)
    runs = {}
    with tempfile.TemporaryDirectory(prefix="windrow-prefixes-") as folder:
        paths = {"sorted": os.path.join(folder, "sorted.jsonl"),
                 "shuffled": os.path.join(folder, "shuffled.jsonl")}
        write_rows(paths["sorted"], len(in_order), in_order.__getitem__)
        write_rows(paths["shuffled"], len(shuffled), shuffled.__getitem__)

        def peer(path):
            return lambda results, url: [python_with_aiohttp(),
                                         os.path.join(HERE, "aiohttp_client.py"), path, results,
                                         url, str(SLOTS)]

        def ours(path):
            return lambda results, url: run_command(options.windrow, path, results, url,
                                                    options.concurrency)

        for name, command_for in {"sorted, aiohttp": peer(paths["sorted"]),
                                  "shuffled, aiohttp": peer(paths["shuffled"]),
                                  "shuffled, windrow": ours(paths["shuffled"])}.items():
            runs[name] = cached_tokens(options, command_for, folder, len(in_order))
            say(f"{name}: {runs[name]['cached_tokens']:,} tokens reused")
    best = runs["sorted, aiohttp"]["cached_tokens"]
    if not options.json:
        print_table(["rows", "prompt tokens", "reused", "to sorted", "took"],
                    [[name, f"{run['prompt_tokens']:,}", f"{run['cached_tokens']:,}",
                      f"{run['cached_tokens'] / best:.3f}", f"{run['wall_s']:.1f} s"]
                     for name, run in runs.items()])
    return {"groups": options.groups, "each": each, "runs": runs, "targets": {
        "reuse of shuffled rows to sorted ones": target(
            runs["shuffled, windrow"]["cached_tokens"] / best, least=SHARE_MIN)}}


if __name__ == "__main__":
    main(parse(), measure)
