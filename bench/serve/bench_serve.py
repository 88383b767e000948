#!/usr/bin/env python3
"""`windrow serve` under load, and beside llama-server.

usage: bench_serve.py PART... [options]; --help lists them

  overhead    requests a second for /health and for chats of a simulated model that takes no time
  windows     embeddings that arrive by chance at 5, 50 and 95 % of what is possible: mean latency
              without a window, with 2 ms, 10 ms, and with the rule that is the default
  packed      32 clients that embed, against the best packed batch of bench_embed
  peers       the same requests to Windrow and llama-server, each at its best settings
  batches     chats of 4 clients while a batch runs and while none does: how much longer they take

Both of a pair run in turns, one at a time; medians of the rounds are compared. Run it with nothing
else running. README.md has the targets and figures.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile

import batches
import workloads
from servers import ROOT, Problem, llama_server, load, windrow

PARTS = ("overhead", "windows", "packed", "peers", "batches")


def parse():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("parts", nargs="+", choices=PARTS, metavar="PART")
    parser.add_argument("--chat", metavar="MODEL", help="GGUF file that generates")
    parser.add_argument("--embed", metavar="MODEL", help="GGUF file that embeds")
    parser.add_argument("--vocabulary", type=int, default=30522, metavar="N",
                        help="tokens that the embedding model knows")
    parser.add_argument("--rounds", type=int, default=5, metavar="N")
    parser.add_argument("--seconds", type=float, default=6, metavar="S", help="of each run")
    parser.add_argument("--rows", nargs="*", metavar="NAME", help="of peers: only these")
    parser.add_argument("--windrow", default=os.path.join(ROOT, "build/bench/src/app/windrow"))
    parser.add_argument("--bench-load", default=os.path.join(ROOT, "build/bench/bench/bench_load"))
    parser.add_argument("--bench-embed",
                        default=os.path.join(ROOT, "build/bench/bench/bench_embed"))
    parser.add_argument("--llama-server", metavar="PROGRAM")
    parser.add_argument("--serve-flags", default="", help="more words for windrow serve")
    parser.add_argument("--json", action="store_true", help="one object a line, not a table")
    return parser.parse_args()


class Report:
    def __init__(self, as_json):
        self.as_json = as_json

    def row(self, **values):
        if self.as_json:
            print(json.dumps(values), flush=True)
            return
        print("  ".join(f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}"
                        for name, value in values.items()), flush=True)


def no_failures(result, what):
    if result["failures"]:
        raise Problem(f"{what}: {result['failures']} failed: {result.get('first_failure')}")
    return result


def overhead(options, report):
    with windrow(options.windrow, {"chat": "sim:instant,answer-tokens=8"}) as server:
        for what, lines, clients, target in (
                ("/health", workloads.healths(), 64, 20000),
                ("chat", workloads.chats(256, 1, 12, 8), 64, 5000),
                ("chat in a stream", workloads.chats(256, 1, 12, 8, stream=True), 64, None)):
            rates = [no_failures(load(options.bench_load, server.url, lines, clients=clients,
                                      seconds=options.seconds, warm_up=2000), what)["per_second"]
                     for _ in range(options.rounds)]
            report.row(part="overhead", what=what, per_second=statistics.median(rates),
                       target=target or "-")


RULES = {
    "rule": [],
    "no window": ["--max-linger-us", "0"],
    "2 ms": ["--batch-window-ms", "2"],
    "10 ms": ["--batch-window-ms", "10"],
}


def windows(options, report):
    lines = workloads.embeddings(512, 3)
    models = {"embed": options.embed}
    with windrow(options.windrow, models) as server:
        most = no_failures(load(options.bench_load, server.url, lines, clients=64,
                                seconds=options.seconds, warm_up=200), "embeddings")["per_second"]
    report.row(part="windows", most_per_second=most)
    means = {(rule, share): [] for rule in RULES for share in (0.05, 0.5, 0.95)}
    for turn in range(options.rounds):
        for rule, flags in RULES.items():
            with windrow(options.windrow, models, *flags) as server:
                load(options.bench_load, server.url, lines, clients=8, requests=200)
                for share in (0.05, 0.5, 0.95):
                    result = no_failures(load(
                        options.bench_load, server.url, lines, rate=share * most,
                        seconds=options.seconds, seed=turn + 1, warm_up=20), rule)
                    means[rule, share].append(result["latency_ms"]["mean"])
    for share in (0.05, 0.5, 0.95):
        of = {rule: statistics.median(means[rule, share]) for rule in RULES}
        best = min(value for rule, value in of.items() if rule != "rule")
        report.row(part="windows", load=share, **{f"{rule} (ms)": of[rule] for rule in RULES},
                   ratio=of["rule"] / best, target="<= 1.2")


def packed(options, report):
    lines = workloads.embedded_tokens(400, options.vocabulary)
    ratios = []
    for _ in range(options.rounds):
        best = packed_best(options)
        with windrow(options.windrow, {"embed": options.embed}) as server:
            served = no_failures(load(options.bench_load, server.url, lines, clients=32,
                                      seconds=options.seconds, warm_up=200), "embeddings")
        ratios.append(served["per_second"] / best)
        report.row(part="packed", served=served["per_second"], packed=best, ratio=ratios[-1])
    report.row(part="packed", ratio=statistics.median(ratios), target=">= 0.9")


def packed_best(options):
    """Inputs a second of the best of bench_embed's batches, of the same inputs."""
    run = subprocess.run([options.bench_embed, options.embed, "--texts", "400", "--pairs", "1",
                          "--threads", "2"], capture_output=True, text=True, check=False)
    if run.returncode != 0:
        raise Problem("bench_embed failed: " + run.stderr)
    plain = re.search(r"^plain:(.*?)backend", run.stdout, re.MULTILINE).group(1)
    return max(float(rate) for rate in re.findall(r"\d+:(\d+)", plain))


# The settings that are tried of Windrow; the faster one is compared.
OURS = {"chat": [[], ["--kv-cache", "split"]], "embed": [[]]}


# name: bodies, clients, requests, what of, flags of llama-server
def peer_rows(options):
    chat_slots = ["--parallel", "16", "--ctx-size", "16384", "--threads", "2"]
    return {
        "chat, prompts differ": (
            workloads.chats(64, 5, 80, 48), 16, 48, "chat", [
                [*chat_slots, "--no-kv-unified"], [*chat_slots, "--kv-unified"]]),
        "chat, common beginning": (
            workloads.chats(64, 6, 40, 32, system_words=400), 16, 48, "chat", [
                [*chat_slots, "--no-kv-unified"], [*chat_slots, "--kv-unified"]]),
        "chat, one at a time": (
            workloads.chats(16, 7, 60, 48), 1, 8, "chat", [
                ["--parallel", "1", "--ctx-size", "4096", "--threads", "2"]]),
        "structured, 18 at once": (
            workloads.extractions(18, 8), 18, 36, "chat", [
                ["--parallel", "18", "--ctx-size", "18432", "--threads", "2", "--no-kv-unified"],
                ["--parallel", "18", "--ctx-size", "18432", "--threads", "2", "--kv-unified"]]),
        "structured, 400 at once": (
            workloads.extractions(400, 9, prompt_words=60), 400, 400, "chat", [
                ["--parallel", "32", "--ctx-size", "32768", "--threads", "2", "--no-kv-unified"],
                ["--parallel", "32", "--ctx-size", "32768", "--threads", "2", "--kv-unified"]]),
        "reranker, 20 at once": (
            workloads.rerankings(200, 10), 20, 100, "chat", [
                ["--parallel", "20", "--ctx-size", "10240", "--threads", "2", "--no-kv-unified"],
                ["--parallel", "20", "--ctx-size", "10240", "--threads", "2", "--kv-unified"]]),
        "embeddings, 32 clients": (
            workloads.embeddings(512, 11), 32, 1500, "embed", [
                ["--embedding", "--parallel", "32", "--ctx-size", "16384", "--threads", "2",
                 "--batch-size", "512", "--ubatch-size", "512"],
                ["--embedding", "--parallel", "8", "--ctx-size", "4096", "--threads", "2"]]),
        "embeddings, one at a time": (
            workloads.embeddings(512, 12), 1, 500, "embed", [
                ["--embedding", "--parallel", "1", "--ctx-size", "512", "--threads", "2"]]),
    }


def peers(options, report):
    for name, (lines, clients, requests, kind, theirs) in peer_rows(options).items():
        if options.rows and name not in options.rows:
            continue
        model = options.embed if kind == "embed" else options.chat
        warm_up = clients
        contenders = {}
        for i, flags in enumerate(OURS[kind]):
            contenders[f"windrow {i + 1}"] = lambda flags=flags: windrow(
                options.windrow, {kind: model}, *flags, *options.serve_flags.split())
        for i, flags in enumerate(theirs):
            contenders[f"llama-server {i + 1}"] = (
                lambda flags=flags: llama_server(options.llama_server, model, *flags))
        results = {contender: [] for contender in contenders}
        failing = {}
        for _ in range(options.rounds):
            for contender, start in contenders.items():
                if contender in failing:
                    continue
                with start() as server:
                    result = load(options.bench_load, server.url, lines, clients=clients,
                                  requests=requests, warm_up=warm_up)
                if contender.startswith("windrow"):
                    no_failures(result, f"{name}, {contender}")
                # One that fails is compared no further, and said.
                if result["failures"]:
                    failing[contender] = f"{result['failures']}: {result.get('first_failure')}"
                    del results[contender]
                    continue
                results[contender].append(result)
        rate = {contender: statistics.median(
            result["tokens_per_second"] or result["per_second"] for result in of)
            for contender, of in results.items()}
        p99 = {contender: statistics.median(result["latency_ms"]["p99"] for result in of)
               for contender, of in results.items()}
        ours = max((name for name in rate if name.startswith("windrow")), key=rate.get)
        others = [contender for contender in rate if contender.startswith("llama")]
        theirs_best = max(others, key=rate.get, default=None)
        ratios = {} if theirs_best is None else {
            "rate_ratio": rate[ours] / rate[theirs_best],
            "p99_ratio": p99[ours] / p99[theirs_best]}
        report.row(part="peers", row=name, **rate, best=ours,
                   **{f"{contender} p99_ms": p99[contender] for contender in rate},
                   **{f"{contender} failed": why for contender, why in failing.items()},
                   **ratios, target="> 1, < 1")


def beside_batches(options, report):
    """In one server, with and without in turns. --chat or a simulated model of 5 ms a step."""
    model = options.chat or "sim:step-us=5000,row-us=100,answer-tokens=32"
    lines = workloads.chats(256, 12, 40, 32)
    rows = workloads.chats(20000, 13, 40, 32)
    measured = {"alone": [], "beside": []}
    with tempfile.TemporaryDirectory() as folder, windrow(
            options.windrow, {"chat": model}, "--data-dir", folder,
            *options.serve_flags.split()) as server:
        file = batches.upload(server, rows)

        def chats(what):
            result = no_failures(load(options.bench_load, server.url, lines, clients=4,
                                      seconds=options.seconds, warm_up=16), what)
            if "mean" not in result["latency_ms"]:
                raise Problem(f"{what}: no chat ended within {options.seconds} s; give --seconds")
            measured[what].append(result["latency_ms"])

        for turn in range(options.rounds):
            chats("alone")
            batch = batches.begin(server, file)
            chats("beside")
            done = batches.end(server, batch)
            report.row(part="batches", turn=turn + 1, rows=done,
                       **{f"{what} {of} (ms)": latencies[-1][of]
                          for what, latencies in measured.items() for of in ("mean", "p99")})
    p99 = {what: statistics.median(of["p99"] for of in latencies)
           for what, latencies in measured.items()}
    report.row(part="batches", **{f"{what} p99 (ms)": value for what, value in p99.items()},
               ratio=p99["beside"] / p99["alone"], target="<= 1.5")


def main():
    options = parse()
    report = Report(options.json)
    for part in options.parts:
        {"overhead": overhead, "windows": windows, "packed": packed, "peers": peers,
         "batches": beside_batches}[part](options, report)


if __name__ == "__main__":
    try:
        main()
    except Problem as problem:
        sys.exit(f"bench_serve: {problem}")
