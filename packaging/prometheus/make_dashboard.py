#!/usr/bin/env python3
"""Makes windrow-dashboard.json, a dashboard for Grafana 9 and newer, from the panels below.

usage: make_dashboard.py           writes it beside this file
       make_dashboard.py --check   exits 1 when it is not up to date
"""

import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
NAME = "windrow-dashboard.json"
COLUMNS = 24

# (row, [(title, unit, what it shows, [(expression, legend)])])
ROWS = [
    ("Requests", [
        ("Requests by status", "reqps", "Calls of a model that ended.",
         [('sum by (status) (rate(windrow_requests_total{instance=~"$instance", model=~"$model"}'
           "[$__rate_interval]))", "{{status}}")]),
        ("Errors by code", "reqps", "All requests that were answered with an error.",
         [('sum by (code) (rate(windrow_errors_total{instance=~"$instance"}[$__rate_interval]))',
           "{{code}}")]),
        ("In progress", "short", "Calls of a model, and clients that are connected.",
         [('sum(windrow_calls_live{instance=~"$instance"})', "calls"),
          ('sum(windrow_http_connections{instance=~"$instance"})', "connections")]),
    ]),
    ("Latency", [
        ("Time to first token", "s", "What users of streams wait for. Median and the slowest 1 %.",
         [(f"histogram_quantile({q}, sum by (class, le) (rate(windrow_time_to_first_token_seconds_"
           'bucket{instance=~"$instance"}[$__rate_interval])))', "{{class}} " + name)
          for q, name in ((0.5, "median"), (0.99, "99 %"))]),
        ("Between two tokens", "s", "How fluent streams are.",
         [(f"histogram_quantile({q}, sum by (class, le) (rate(windrow_inter_token_seconds_"
           'bucket{instance=~"$instance"}[$__rate_interval])))', "{{class}} " + name)
          for q, name in ((0.5, "median"), (0.99, "99 %"))]),
        ("Whole requests", "s", "From a call's arrival to the end of its answer.",
         [(f"histogram_quantile({q}, sum by (class, le) (rate(windrow_request_duration_seconds_"
           'bucket{instance=~"$instance"}[$__rate_interval])))', "{{class}} " + name)
          for q, name in ((0.5, "median"), (0.99, "99 %"))]),
        ("Age of the oldest request in the queue", "s", "Above a few seconds the server is full.",
         [('max by (model, class) (windrow_queue_oldest_seconds{instance=~"$instance", '
           'model=~"$model"})', "{{model}} {{class}}")]),
    ]),
    ("Throughput", [
        ("Tokens", "short", "Per second: computed of prompts, taken from the cache, generated.",
         [(f'sum by (model) (rate(windrow_engine_{name}_tokens_total{{instance=~"$instance", '
           'model=~"$model"}[$__rate_interval]))', "{{model}} " + name)
          for name in ("prompt", "cached", "generated")]),
        ("Rows of a forward pass", "short", "The one number that says whether batching works.",
         [('sum by (model, kind) (rate(windrow_step_rows_sum{instance=~"$instance", '
           'model=~"$model"}[$__rate_interval])) / sum by (model, kind) '
           '(rate(windrow_step_rows_count{instance=~"$instance", model=~"$model"}'
           "[$__rate_interval]))", "{{model}} {{kind}}")]),
        ("Part of the prompts that was cached", "percentunit", "By shared prefixes.",
         [('sum by (model) (rate(windrow_engine_cached_tokens_total{instance=~"$instance", '
           'model=~"$model"}[$__rate_interval])) / (sum by (model) '
           '(rate(windrow_engine_cached_tokens_total{instance=~"$instance", model=~"$model"}'
           "[$__rate_interval])) + sum by (model) (rate(windrow_engine_prompt_tokens_total"
           '{instance=~"$instance", model=~"$model"}[$__rate_interval])))', "{{model}}")]),
        ("KV cache", "percentunit", "Needed by running rows, and with what rests for reuse.",
         [('sum by (model) (windrow_kv_cells{instance=~"$instance", model=~"$model", '
           'state="needed"}) / sum by (model) (windrow_kv_cells_max{instance=~"$instance", '
           'model=~"$model"})', "{{model}} needed"),
          ('sum by (model) (windrow_kv_cells{instance=~"$instance", model=~"$model"}) / '
           'sum by (model) (windrow_kv_cells_max{instance=~"$instance", model=~"$model"})',
           "{{model}} all")]),
        ("Time of a forward pass", "s", "Median and the slowest 1 %, without sampling.",
         [(f"histogram_quantile({q}, sum by (model, kind, le) (rate(windrow_step_duration_seconds_"
           'bucket{instance=~"$instance", model=~"$model"}[$__rate_interval])))',
           "{{model}} {{kind}} " + name) for q, name in ((0.5, "median"), (0.99, "99 %"))]),
        ("Preempted rows", "reqps", "Rows that lost their place and are computed again.",
         [('sum by (model) (rate(windrow_preempted_rows_total{instance=~"$instance", '
           'model=~"$model"}[$__rate_interval]))', "{{model}}")]),
    ]),
    ("Keys", [
        ("Calls by key", "reqps", "A key sees its own, an admin's key all.",
         [('sum by (key, outcome) (rate(windrow_key_calls_total{instance=~"$instance"}'
           "[$__rate_interval]))", "{{key}} {{outcome}}")]),
        ("Tokens by key", "short", "Per second, of prompts and answers.",
         [('sum by (key) (rate(windrow_key_prompt_tokens_total{instance=~"$instance"}'
           "[$__rate_interval]))", "{{key}} prompt"),
          ('sum by (key) (rate(windrow_key_completion_tokens_total{instance=~"$instance"}'
           "[$__rate_interval]))", "{{key}} output")]),
    ]),
    ("Batches", [
        ("Rows of batches", "reqps", "That have a result.",
         [('sum by (result) (rate(windrow_batch_rows_total{instance=~"$instance"}'
           "[$__rate_interval]))", "{{result}}")]),
        ("Batches that have not ended", "short", "",
         [('sum by (status) (windrow_batches{instance=~"$instance", '
           'status=~"validating|in_progress|finalizing|cancelling"})', "{{status}}")]),
        ("Files", "bytes", "",
         [('sum by (instance) (windrow_files_bytes{instance=~"$instance"})', "{{instance}}")]),
    ]),
    ("Upstream servers", [
        ("Calls in flight", "short", "And the in-flight window that was found.",
         [('windrow_upstream_in_flight{instance=~"$instance"}', "{{upstream}}"),
          ('windrow_upstream_in_flight_max{instance=~"$instance"}', "{{upstream}} window")]),
        ("Answers and failures", "reqps", "",
         [('sum by (upstream) (rate(windrow_upstream_answers_total{instance=~"$instance"}'
           "[$__rate_interval]))", "{{upstream}} answers"),
          ('sum by (upstream, kind) (rate(windrow_upstream_failures_total'
           '{instance=~"$instance"}[$__rate_interval]))', "{{upstream}} {{kind}}")]),
        ("Healthy", "short", "1 while it gets requests.",
         [('windrow_upstream_healthy{instance=~"$instance"}', "{{upstream}}")]),
    ]),
    ("Process", [
        ("CPU", "short", "Cores in use.",
         [('rate(process_cpu_seconds_total{job="windrow", instance=~"$instance"}'
           "[$__rate_interval])", "{{instance}}")]),
        ("Memory", "bytes", "In RAM, and of each model.",
         [('process_resident_memory_bytes{job="windrow", instance=~"$instance"}', "{{instance}}"),
          ('windrow_model_memory_bytes{instance=~"$instance"}', "{{model}}")]),
        ("File descriptors", "short", "",
         [('process_open_fds{job="windrow", instance=~"$instance"}', "{{instance}} open"),
          ('process_max_fds{job="windrow", instance=~"$instance"}', "{{instance}} limit")]),
    ]),
]

SOURCE = {"type": "prometheus", "uid": "${source}"}


def panel(number, title, unit, text, targets, place):
    return {
        "id": number,
        "type": "timeseries",
        "title": title,
        "description": text,
        "datasource": SOURCE,
        "gridPos": place,
        "fieldConfig": {"defaults": {"unit": unit, "min": 0}, "overrides": []},
        "options": {"legend": {"displayMode": "list", "placement": "bottom"},
                    "tooltip": {"mode": "multi", "sort": "desc"}},
        "targets": [{"refId": chr(ord("A") + i), "datasource": SOURCE, "expr": expression,
                     "legendFormat": legend} for i, (expression, legend) in enumerate(targets)],
    }


def variable(name, label, query):
    return {"name": name, "label": label, "type": "query", "datasource": SOURCE,
            "query": {"query": query, "refId": name}, "refresh": 2, "multi": True,
            "includeAll": True, "allValue": ".*", "current": {"text": "All", "value": "$__all"}}


def dashboard():
    panels = []
    y = 0
    for title, content in ROWS:
        panels.append({"id": len(panels) + 1, "type": "row", "title": title, "collapsed": False,
                       "gridPos": {"x": 0, "y": y, "w": COLUMNS, "h": 1}, "panels": []})
        y += 1
        in_line = 3 if len(content) % 3 == 0 else 2
        width = COLUMNS // in_line
        for i, (name, unit, text, targets) in enumerate(content):
            place = {"x": i % in_line * width, "y": y + i // in_line * 8, "w": width, "h": 8}
            panels.append(panel(len(panels) + 1, name, unit, text, targets, place))
        y += (len(content) + in_line - 1) // in_line * 8
    return {
        "uid": "windrow",
        "title": "Windrow",
        "tags": ["windrow", "llm"],
        "schemaVersion": 36,
        "editable": True,
        "timezone": "browser",
        "refresh": "30s",
        "time": {"from": "now-3h", "to": "now"},
        "templating": {"list": [
            {"name": "source", "label": "Prometheus", "type": "datasource", "query": "prometheus"},
            variable("instance", "Server", "label_values(windrow_ready, instance)"),
            variable("model", "Model", "label_values(windrow_rows_running, model)"),
        ]},
        "panels": panels,
    }


def main():
    path = os.path.join(HERE, NAME)
    text = json.dumps(dashboard(), indent=1) + "\n"
    if sys.argv[1:] == ["--check"]:
        with open(path, encoding="utf-8") as file:
            if file.read() != text:
                sys.exit(f"{NAME} is not up to date; run packaging/prometheus/make_dashboard.py")
        return
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


main()
