#!/usr/bin/env python3
"""Rows a second against servers that answer at once: windrow, wrk as the limit, aiohttp.

usage: rate.py [options]; --help lists them

The contenders take turns, each alone beside the server, on the same cores. windrow and the aiohttp
client read the same kind of file and write the same kind of lines; their time is that of the whole
process, from its start to its end, in which windrow syncs all it writes. wrk sends the first row's
body again and again and writes nothing.
"""

import json
import os
import re
import statistics
import subprocess
import tempfile

from machine import (HERE, Job, Nginx, Problem, SimUpstream, body_of, check_results, find_program,
                     main, parser_for, print_table, python_with_aiohttp, run_command, say, target,
                     write_rows)


def parse():
    parser = parser_for(__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, metavar="N",
                        help="for windrow (default: 200000; with --full 1000000)")
    parser.add_argument("--peer-rows", type=int, metavar="N",
                        help="for aiohttp (default: 15000; with --full 60000)")
    parser.add_argument("--concurrency", type=int, default=64, metavar="N",
                        help="of every contender (default: %(default)s)")
    parser.add_argument("--repeats", type=int, default=3, metavar="N")
    parser.add_argument("--servers", default="sim,nginx", help="(default: %(default)s)")
    parser.add_argument("--auto", action="store_true",
                        help="also windrow with the number in flight that it finds itself")
    return parser


def wrk_rate(url, connections, folder, seconds):
    script = os.path.join(folder, "post.lua")
    with open(script, "w", encoding="utf-8") as lua:
        lua.write('wrk.method = "POST"\n'
                  f"wrk.body = [==[{json.dumps(body_of(0))}]==]\n"
                  'wrk.headers["Content-Type"] = "application/json"\n')
    run = subprocess.run([find_program("wrk"), "-t1", f"-c{connections}", f"-d{seconds}s",
                          "-s", script, url + "/chat/completions"],
                         capture_output=True, text=True, check=False)
    found = re.search(r"Requests/sec:\s*([0-9.]+)", run.stdout)
    if run.returncode != 0 or not found or "Non-2xx" in run.stdout:
        raise Problem(f"wrk failed:\n{run.stdout}{run.stderr}")
    return float(found.group(1))


class Round:
    def __init__(self, options, folder, url):
        self.options = options
        self.folder = folder
        self.url = url

    def wrk(self):
        rate = wrk_rate(self.url, self.options.concurrency, self.folder, 10 if self.options.full
                        else 4)
        return {"rows_per_s": rate}

    def client(self, command, results, rows):
        with Job(command, limit_s=1800) as job:
            used = job.finish()
        check_results(results, rows)
        os.unlink(results)
        return used.figures(rows)

    def windrow(self, concurrency=None):
        results = os.path.join(self.folder, "results.jsonl")
        figures = self.client(
            run_command(self.options.windrow, os.path.join(self.folder, "rows.jsonl"), results,
                        self.url, concurrency or self.options.concurrency),
            results, self.options.rows)
        for name in os.listdir(self.folder):
            if name.startswith("results."):
                os.unlink(os.path.join(self.folder, name))
        return figures

    def windrow_auto(self):
        return self.windrow("auto")

    def aiohttp(self):
        results = os.path.join(self.folder, "results.jsonl")
        return self.client([python_with_aiohttp(), os.path.join(HERE, "aiohttp_client.py"),
                            os.path.join(self.folder, "peer.jsonl"), results, self.url,
                            str(self.options.concurrency)], results, self.options.peer_rows)


def server_for(name, options):
    return SimUpstream(options.windrow, ["--instant"]) if name == "sim" else Nginx()


def median(rounds, contender, figure="rows_per_s"):
    return statistics.median(one[contender][figure] for one in rounds)


def measure(options):
    options.rows = options.rows or (1_000_000 if options.full else 200_000)
    options.peer_rows = options.peer_rows or (60_000 if options.full else 15_000)
    contenders = ["wrk", "windrow", "aiohttp"] + (["windrow_auto"] if options.auto else [])
    figures = {"concurrency": options.concurrency, "servers": {}, "targets": {}}
    table = []
    with tempfile.TemporaryDirectory(prefix="windrow-rate-") as folder:
        write_rows(os.path.join(folder, "rows.jsonl"), options.rows)
        write_rows(os.path.join(folder, "peer.jsonl"), options.peer_rows)
        for name in options.servers.split(","):
            rounds = []
            with server_for(name, options) as server:
                for number in range(options.repeats):
                    turn = Round(options, folder, server.url)
                    rounds.append({one: getattr(turn, one)() for one in contenders})
                    say(f"{name}, round {number + 1}: " + ", ".join(
                        f"{one} {figure['rows_per_s']:,.0f}/s"
                        for one, figure in rounds[-1].items()))
            rates = {one: median(rounds, one) for one in contenders}
            for one in contenders:
                cpu = [f"{median(rounds, one, 'rows_per_cpu_s'):,.0f}",
                       f"{median(rounds, one, 'rss_bytes') / 1e6:.0f} MB"] if one != "wrk" else \
                    ["", ""]
                table.append([f"{name}: {one}", f"{rates[one]:,.0f}", *cpu,
                              f"{rates[one] / rates['wrk']:.3f}",
                              f"{rates[one] / rates['aiohttp']:.1f}"])
            figures["servers"][name] = {"rates": rates, "rounds": rounds}
            figures["targets"][f"{name}: windrow to aiohttp"] = target(
                rates["windrow"] / rates["aiohttp"], least=5, aim=10)
            figures["targets"][f"{name}: windrow to wrk"] = target(
                rates["windrow"] / rates["wrk"], least=0.12, aim=0.3)
    if not options.json:
        print_table(["medians", "rows/s", "rows/s of a core", "memory", "to wrk", "to aiohttp"],
                    table)
    return figures


if __name__ == "__main__":
    main(parse(), measure)
