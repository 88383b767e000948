#!/usr/bin/env python3
"""Windrow's engine, llama-server and a plain loop over libllama: the same rows, in turns.

usage: compare.py MODEL [options]; --help lists them

llama-server (of the same package suite: ./setup --bench) is measured in three configurations and
counts at its best in each round: as it comes (automatic), with a slot for each row at once (split),
and the same with one KV cache for all (unified). Its prompt cache in RAM stays as it comes, 8 GiB.
Every contender has a context of the same size, the same number of threads, and the same tokens
(bench_engine --write-prompts). An answer of another length than asked ends the comparison.

Run it with nothing else running: libllama's threads wait by spinning.
"""

import argparse
import itertools
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile

from child import Child, Problem, TooSlow
from scenarios import SCENARIOS, quick, reshaped
from server import CONFIGURATIONS, Server, find_program, version_of

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
OURS = {"plain": "plain loop", "engine": "engine", "engine-split": "engine, split cache"}
BUSY_LOAD = 0.5  # a load average above it before the start deserves a word


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("model", help="a GGUF file")
    parser.add_argument("--scenarios", default=",".join(SCENARIOS),
                        help="some of them, with commas (default: %(default)s)")
    parser.add_argument("--quick", action="store_true",
                        help="24 groups of 20 rows, not 200: for models of 0.6B on two cores")
    parser.add_argument("--shape", action="append", default=[], metavar="NAME:KEY=N,...",
                        help="other sizes: rows, groups, shared, own, answer, rounds, at_once")
    parser.add_argument("--contenders", default=",".join([*CONFIGURATIONS, *OURS]),
                        help="some of them, with commas (default: %(default)s)")
    parser.add_argument("--repeats", type=int, default=1, metavar="N",
                        help="all of it so many times, every second one in reverse order")
    parser.add_argument("--connections", type=int, default=64, metavar="N",
                        help="requests in flight to llama-server (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=2, metavar="N")
    parser.add_argument("--step-ms", type=int, metavar="N", help="of the engine (bench_engine)")
    parser.add_argument("--cache-ram", type=int, metavar="MIB",
                        help="llama-server's cache of prompts in RAM, 0 for none (default: as it "
                        "comes, 8192)")
    parser.add_argument("--limit", type=int, default=1200, metavar="SECONDS",
                        help="for a round of a contender (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    parser.add_argument("--bench-engine", metavar="PROGRAM",
                        default=os.path.join(ROOT, "build/bench/bench/bench_engine"))
    parser.add_argument("--llama-server", metavar="PROGRAM")
    parser.add_argument("--json", action="store_true", help="one object at the end, not a table")
    return parser.parse_args()


class Comparison:
    def __init__(self, arguments):
        self.arguments = arguments
        if not os.path.isfile(arguments.model):
            raise Problem(f"there is no model {arguments.model}")
        if not os.access(arguments.bench_engine, os.X_OK):
            raise Problem(f"there is no {arguments.bench_engine}: cmake --preset bench && ninja -C "
                          "build/bench bench_engine, or name it with --bench-engine")
        self.contenders = chosen("--contenders", arguments.contenders,
                                 [*CONFIGURATIONS, *OURS])
        self.server = None
        if set(self.contenders) & set(CONFIGURATIONS):
            self.server = find_program(arguments.llama_server)
        self.plugins = {}

    def measure(self, contender, shape, seed, rows):
        if contender in CONFIGURATIONS:
            return self.measure_server(contender, shape, rows)
        return self.measure_ours(contender, shape, seed)

    def measure_server(self, configuration, shape, rows):
        arguments = self.arguments
        settings = CONFIGURATIONS[configuration](shape.at_once)
        if arguments.cache_ram is not None:
            settings += ["--cache-ram", str(arguments.cache_ram)]
        with Server(self.server, arguments.model, shape.cells(), arguments.threads,
                    settings) as server:
            self.plugins["llama-server"] = server.cpu_plugin()
            server.warm_up(rows)
            connections = min(arguments.connections, len(rows))
            rounds = [server.measure(rows, shape.answer, connections, arguments.limit)
                      for _ in range(shape.rounds)]
            return [{**measured, "slots": server.slots} for measured in rounds]

    def measure_ours(self, contender, shape, seed):
        arguments = self.arguments
        contender, _, split = contender.partition("-")
        command = [arguments.bench_engine, arguments.model, *shape.arguments(), "--json",
                   f"--{contender}-only", "--seed", str(seed), "--threads", str(arguments.threads)]
        if split:
            command.append("--split")
        if arguments.step_ms:
            command += ["--step-ms", str(arguments.step_ms)]
        with Child(command, read_output=True) as child:
            try:
                text, _ = child.process.communicate(timeout=arguments.limit * shape.rounds + 60)
            except subprocess.TimeoutExpired:
                raise TooSlow(f"not in {arguments.limit} s a round") from None
            if child.process.returncode != 0:
                raise Problem("bench_engine failed:\n" + child.last_words())
        report = json.loads(text)
        self.plugins["bench_engine"] = report["cpu_plugin"]
        rounds = report[contender][0]
        for measured in rounds:
            if measured["generated_tokens"] != shape.rows * shape.answer:
                raise Problem(f"the {contender} generated {measured['generated_tokens']} tokens, "
                              f"not {shape.rows * shape.answer}; that cannot be compared")
        return rounds

    def prompts(self, shape, seed):
        """The rows as bench_engine makes them, so that there is only one formula."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "prompts.jsonl")
            run = subprocess.run(
                [self.arguments.bench_engine, self.arguments.model, *shape.arguments(), "--seed",
                 str(seed), "--write-prompts", path],
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=300,
                check=False)
            if run.returncode != 0:
                raise Problem("bench_engine wrote no prompts:\n" + run.stderr)
            with open(path, encoding="utf-8") as file:
                return [json.loads(line) for line in file]

    def check_plugins(self):
        """Two plug-ins differ by a factor; nothing could be said of what else differs."""
        if len(set(self.plugins.values())) > 1:
            raise Problem("the contenders took different CPU plug-ins of libggml: " + ", ".join(
                f"{name} {plugin}" for name, plugin in self.plugins.items()))


def chosen(option, text, known):
    names = text.split(",")
    for name in names:
        if name not in known:
            raise Problem(f"{option}: '{name}' is not one of {', '.join(known)}")
    return [name for name in known if name in names]


def label(contender):
    if contender in CONFIGURATIONS:
        return f"llama-server {contender}"
    return OURS[contender]


def round_name(index):
    return "cold" if index == 0 else "repeated"


def ratios(repeats, engine, peers, index):
    """Of each repeat in which all were measured: the engine to the best of the peers."""
    found = []
    for repeat in repeats:
        if all(repeat.get(name) for name in (engine, *peers)) and peers:
            best = max(repeat[peer][index]["rows_per_second"] for peer in peers)
            found.append(repeat[engine][index]["rows_per_second"] / best)
    return found


def judge(scenario, repeats, contenders):
    """Each ratio with its target, for each round."""
    servers = [name for name in contenders if name in CONFIGURATIONS]
    judged = []
    for index in range(scenario.shape.rounds):
        target = scenario.to_server[min(index, len(scenario.to_server) - 1)]
        peers = [("best llama-server", servers, target)]
        if "plain" in contenders:
            peers.append(("plain loop", ["plain"], scenario.to_plain))
        engines = [name for name in contenders if name.startswith("engine")]
        for engine, (peer, names, wanted) in itertools.product(engines, peers):
            values = ratios(repeats, engine, names, index)
            if values:
                judged.append({"round": round_name(index), "engine": label(engine), "peer": peer,
                               "ratio": statistics.median(values), "of": values,
                               "target": wanted.least, "aim": wanted.aim,
                               "says": str(wanted)})
    return judged


def print_table(repeats, contenders, judged):
    for contender in contenders:
        for index, measured in enumerate(zip(*[r[contender] for r in repeats if r[contender]])):
            rate = statistics.median(m["rows_per_second"] for m in measured)
            slots = measured[0].get("slots")
            name = label(contender) + (f", {slots} slots" if slots else "")
            print(f"  {name:<34}{round_name(index):<9} {rate:9.3f} rows/s "
                  f"{measured[0]['prefilled_tokens']:9} tokens prefilled")
    for line in judged:
        verdict = "reached" if line["ratio"] >= line["target"] else "missed"
        values = " ".join(f"{value:.2f}" for value in line["of"])
        name = f"{line['engine']} / {line['peer']}"
        print(f"  {name:<40}{line['round']:<9} {line['ratio']:9.2f} "
              f"({line['says']}: {verdict})" + (f" of {values}" if len(line["of"]) > 1 else ""))
    print(flush=True)


def compare(arguments):
    comparison = Comparison(arguments)
    scenarios = {name: quick(s) if arguments.quick else s for name, s in SCENARIOS.items()}
    for text in arguments.shape:
        scenarios = reshaped(scenarios, text)
    names = chosen("--scenarios", arguments.scenarios, list(scenarios))

    def say(text):
        print(text, file=sys.stderr if arguments.json else sys.stdout, flush=True)

    load = os.getloadavg()[0]
    report = {"model": os.path.basename(arguments.model), "threads": arguments.threads,
              "load_before": load, "repeats": arguments.repeats, "scenarios": {}}
    if comparison.server:
        report["llama_server"] = version_of(comparison.server)
        report["cache_ram_mib"] = arguments.cache_ram  # null: as it comes
        cache = "as it comes" if arguments.cache_ram is None else f"{arguments.cache_ram} MiB"
        say(f"llama-server {report['llama_server']}, cache of prompts in RAM: {cache}\n"
            f"  {comparison.server}")
    if load > BUSY_LOAD:
        say(f"the load of this machine was {load:.1f} before the start: something else may be "
            "running, and then no figure below means much")
    all_in_time = True
    for name in names:
        scenario = scenarios[name]
        say(f"{name}: {scenario.shape}, {arguments.threads} threads")
        repeats = []
        for repeat in range(arguments.repeats):
            seed = arguments.seed + repeat
            rows = comparison.prompts(scenario.shape, seed)
            results = {}
            order = comparison.contenders[::-1] if repeat % 2 else comparison.contenders
            for contender in order:
                try:
                    rounds = comparison.measure(contender, scenario.shape, seed, rows)
                    rates = ", ".join(f"{m['rows_per_second']:.3f}" for m in rounds)
                    say(f"  . {label(contender)}: {rates} rows/s")
                except TooSlow as problem:
                    rounds = None
                    all_in_time = False
                    say(f"  . {label(contender)}: too slow, {problem}")
                results[contender] = rounds
                comparison.check_plugins()
            repeats.append(results)
        judged = judge(scenario, repeats, comparison.contenders)
        report["scenarios"][name] = {"shape": vars(scenario.shape), "measured": repeats,
                                     "ratios": judged}
        if not arguments.json:
            print_table(repeats, comparison.contenders, judged)
    report["cpu_plugins"] = comparison.plugins
    if arguments.json:
        print(json.dumps(report, indent=2))
    else:
        say("CPU plug-in: " + ", ".join(sorted(set(comparison.plugins.values()))))
    return 0 if all_in_time else 1


def stopped(number, _):
    raise SystemExit(128 + number)


def main():
    signal.signal(signal.SIGTERM, stopped)
    signal.signal(signal.SIGHUP, stopped)
    try:
        return compare(parse_arguments())
    except Problem as problem:
        print(f"compare.py: {problem}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("compare.py: interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
