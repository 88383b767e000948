#!/usr/bin/env python3
"""Structured answers of Windrow's engine and of llama-server: the same schema, model and prompts.

usage: compare.py MODEL [options]; --help lists them

The engine's part is bench_structured in a process of its own, with forced runs, as `windrow run`
has them. llama-server (./setup --bench) has a slot for each row. All rows are sent at once; both
have answered when every row has the same number of tokens. Run it with nothing else running.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(HERE, "../llama_server"))

from child import Child, Problem  # noqa: E402
from server import Server, find_program, version_of  # noqa: E402

TARGET = 3.0
CELLS_GRANULE = 256  # llama-server gives each slot a multiple of it
SPARE_TOKENS = 16
BUSY_LOAD = 0.5


def parse():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("model", help="a GGUF file")
    parser.add_argument("--schema", default=os.path.join(HERE, "report.json"), metavar="FILE")
    parser.add_argument("--rows", type=int, default=32, metavar="N")
    parser.add_argument("--prompt", type=int, default=32, metavar="TOKENS")
    parser.add_argument("--answer", type=int, default=96, metavar="TOKENS")
    parser.add_argument("--threads", type=int, default=2, metavar="N")
    parser.add_argument("--repeats", type=int, default=1, metavar="N")
    parser.add_argument("--temperature", type=float, default=0.7)
    parser.add_argument("--limit", type=int, default=1800, metavar="SECONDS",
                        help="for all rows of llama-server (default: %(default)s)")
    parser.add_argument("--bench-structured", metavar="PROGRAM",
                        default=os.path.join(ROOT, "build/bench/bench/bench_structured"))
    parser.add_argument("--llama-server", metavar="PROGRAM")
    parser.add_argument("--json", action="store_true", help="one object at the end, not a table")
    return parser.parse_args()


def ours(options, *more):
    command = [options.bench_structured, options.model, "--schema", options.schema,
               "--rows", str(options.rows), "--prompt", str(options.prompt),
               "--answer", str(options.answer), "--threads", str(options.threads),
               "--temperature", str(options.temperature), *more]
    with Child(command, read_output=True) as child:
        text, _ = child.process.communicate(timeout=3600)
        if child.process.returncode not in (0, 1):
            raise Problem("bench_structured failed:\n" + child.last_words())
    return text


def measure_ours(options):
    report = json.loads(ours(options, "--only-forced", "--json", "--repeats",
                             str(options.repeats)))
    return report["schema"]["tokens_per_second"]


def prompts(options):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "prompts.jsonl")
        ours(options, "--write-prompts", path)
        with open(path, encoding="utf-8") as file:
            return [json.loads(line) for line in file]


def measure_server(options, program, constrained):
    rows = prompts(options)
    with open(options.schema, encoding="utf-8") as file:
        schema = json.load(file)
    fields = {"temperature": options.temperature, "cache_prompt": False}
    if constrained:
        fields.update(json_schema=schema, ignore_eos=False)
    row_cells = options.prompt + options.answer + SPARE_TOKENS
    cells = -(-row_cells // CELLS_GRANULE) * CELLS_GRANULE * options.rows
    with Server(program, options.model, cells, options.threads,
                ["--parallel", str(options.rows), "--no-kv-unified"]) as server:
        server.warm_up(rows)
        rates = []
        for _ in range(options.repeats):
            done = server.measure(rows, options.answer, len(rows), options.limit, fields)
            rates.append(done["rows_per_second"] * options.answer)
        return statistics.median(rates)


def compare(options):
    if not os.access(options.bench_structured, os.X_OK):
        raise Problem(f"there is no {options.bench_structured}: cmake --preset bench && ninja -C "
                      "build/bench bench_structured, or name it with --bench-structured")
    program = find_program(options.llama_server)
    load = os.getloadavg()[0]
    if load > BUSY_LOAD:
        print(f"note: the load is {load:.1f} already; what runs beside this takes its part",
              file=sys.stderr)
    rates = {"windrow": measure_ours(options),
             "llama-server": measure_server(options, program, True),
             "llama-server, any text": measure_server(options, program, False)}
    ratio = rates["windrow"] / rates["llama-server"]
    report = {"llama_server": version_of(program), "load_before": load, "tokens_per_second": rates,
              "targets": {"windrow to llama-server, same schema": {
                  "value": ratio, "least": TARGET, "met": ratio >= TARGET}}}
    if options.json:
        print(json.dumps(report, indent=2))
    else:
        for name, rate in rates.items():
            print(f"  {name:<28} {rate:9.2f} tokens/s")
        print(f"windrow to llama-server, same schema   {ratio:6.2f}   at least {TARGET}: "
              + ("met" if ratio >= TARGET else "MISSED"))
    return 0 if ratio >= TARGET else 1


def main():
    try:
        return compare(parse())
    except Problem as problem:
        print(f"compare.py: {problem}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
