#!/usr/bin/env python3
"""Checks packaging/prometheus against a running server, and with promtool where that is there.

usage: check.py metrics WINDROW FOLDER      every metric and label that the rules and the dashboard
                                            use is on /metrics, and docs/api.md lists all of it
       check.py promtool PROMTOOL FOLDER    exits 77 where there is no promtool

FOLDER is packaging/prometheus.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.request

SKIPPED = 77
SELECTOR = re.compile(r"\b((?:windrow|process)_[a-z0-9_]+)(?:\{([^}]*)\})?")
LABEL = re.compile(r'([a-z_]+)\s*(?:=~|!~|!=|=)\s*"')
GROUPED = re.compile(r"\b(?:by|without)\s*\(([^)]*)\)")
# Of Prometheus itself, or of histograms.
OTHER_LABELS = {"instance", "job", "le"}


def expressions(folder):
    """(place, PromQL) of every rule and every target of a panel."""
    with open(os.path.join(folder, "windrow.rules.yml"), encoding="utf-8") as file:
        rules = file.read()
    # A YAML reader is not part of Python. An expression ends where a line names the next member.
    for match in re.finditer(r"alert: (\w+)\n\s+expr:(.*?)\n\s+(?:for|labels):", rules, re.S):
        yield match[1], match[2].replace(">-", " ")
    with open(os.path.join(folder, "windrow-dashboard.json"), encoding="utf-8") as file:
        dashboard = json.load(file)
    for panel in dashboard["panels"]:
        for target in panel.get("targets", []):
            yield panel["title"], target["expr"]
    for variable in dashboard["templating"]["list"]:
        if isinstance(variable["query"], dict):
            yield variable["name"], variable["query"]["query"]


def families_of(page):
    """{metric: labels of its samples}; a family without samples has None. Histograms have their
    three metrics."""
    families = {}
    for name, kind in re.findall(r"^# TYPE (\S+) (\S+)$", page, re.M):
        for ending in ("_bucket", "_sum", "_count") if kind == "histogram" else ("",):
            families[name + ending] = None
    for name, labels in re.findall(r"^([a-z_0-9]+)(?:\{(.*)\})? \S+$", page, re.M):
        families[name] = (families[name] or set()) | set(LABEL.findall(labels or ""))
    return families


def server_page(windrow):
    """/metrics of a server with all its parts that has answered a request."""
    folder = tempfile.mkdtemp()
    server = subprocess.Popen(
        [windrow, "serve", "--model", "m=sim:instant", "--listen", "127.0.0.1:0", "--data-dir",
         os.path.join(folder, "data"), "--json"], stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, text=True, cwd=folder)
    try:
        url = None
        for line in server.stdout:
            event = json.loads(line)
            url = event.get("url", url)
            if event["event"] == "ready":
                break
        body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "hello"}]})
        urllib.request.urlopen(urllib.request.Request(
            url + "/v1/chat/completions", body.encode(),
            {"Content-Type": "application/json"})).read()
        return urllib.request.urlopen(url + "/metrics").read().decode()
    finally:
        server.terminate()
        server.wait()
        shutil.rmtree(folder, ignore_errors=True)


def check_metrics(windrow, folder):
    faults = []
    families = families_of(server_page(windrow))
    used = 0
    for place, expression in expressions(folder):
        for name, selector in SELECTOR.findall(expression):
            used += 1
            if name not in families:
                faults.append(f"{place}: there is no metric {name}")
                continue
            labels = families[name]
            missing = set(LABEL.findall(selector)) - OTHER_LABELS - (labels or set())
            if labels is not None and missing:
                faults.append(f"{place}: {name} has no label {', '.join(sorted(missing))}")
        known = set().union(*(families.get(name) or set()
                              for name, _ in SELECTOR.findall(expression)), OTHER_LABELS)
        unseen = any(families.get(name, 0) is None for name, _ in SELECTOR.findall(expression))
        for group in GROUPED.findall(expression):
            for label in re.findall(r"\w+", group):
                if label not in known and not unseen:
                    faults.append(f"{place}: grouped by {label}, which none of its metrics has")
    if used < 50:
        faults.append(f"only {used} uses of metrics were found: the reader is wrong")
    if "process_cpu_seconds_total" not in families or families["process_open_fds"] is None:
        faults.append("process_* is not on the page")
    return faults


def check_promtool(promtool, folder):
    commands = [["check", "config", "prometheus.yml"], ["check", "rules", "windrow.rules.yml"],
                ["test", "rules", "windrow.rules_test.yml"]]
    faults = []
    for command in commands:
        ended = subprocess.run([promtool] + command, cwd=folder, capture_output=True, text=True,
                               check=False)
        if ended.returncode != 0:
            faults.append(f"promtool {' '.join(command)}:\n{ended.stdout}{ended.stderr}")
    return faults


def main():
    what, program, folder = sys.argv[1:]
    if what == "promtool" and not shutil.which(program):
        print(f"skipped: there is no {program}; ./setup --tests fetches it")
        sys.exit(SKIPPED)
    if what == "metrics":
        subprocess.run([sys.executable, os.path.join(folder, "make_dashboard.py"), "--check"],
                       check=True)
    check = check_metrics if what == "metrics" else check_promtool
    faults = check(program, folder)
    for fault in faults:
        print(fault)
    sys.exit(1 if faults else 0)


main()
