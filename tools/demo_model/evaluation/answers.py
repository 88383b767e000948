"""Accuracy: held-out examples go through windrow, and check_answers judges what comes back."""

import json
from pathlib import Path
from typing import Any

from tasks import batch, example

from . import programs

# Percent of the rows whose whole answer is right; the other tasks are reported as they are.
TARGETS = {"screening": 95, "extraction": 90, "consolidation": 85, "sort": 97, "merge": 95,
           "tool_calling": 90}


def measure(found: programs.Programs, model: Path, tasks: list[str], seed: int, count: int,
            folder: Path, show_wrong: int) -> dict[str, Any]:
    """{task: {"rows", "right", "percent", "missing", "parts", "target"}}"""
    requests, key, results = (folder / name for name in
                              ("tasks.jsonl", "tasks.key.jsonl", "tasks.results.jsonl"))
    batch.write(((f"{task}-{number}", example(task, "test", number))
                 for task in tasks for number in range(seed, seed + count)), requests, key)
    programs.run_windrow(found.windrow, model, requests, results)
    judged = json.loads(programs.check_answers(found.check_answers, results, key, show_wrong))
    return {task: {**score, "target": TARGETS.get(task)}
            for task, score in judged["tasks"].items()}


def table(scores: dict[str, Any]) -> str:
    lines = [f"{'task':<14} {'rows':>7} {'accuracy':>9} {'target':>7}"]
    for task, score in scores.items():
        target = "none" if score["target"] is None else f"{score['target']} %"
        parts = ", ".join(f"{name} {percent:.1f}" for name, percent in score["parts"].items())
        lines.append(f"{task:<14} {score['rows']:>7} {score['percent']:>7.1f} % {target:>7}"
                     f"   {parts}".rstrip())
        if score["missing"]:
            lines.append(f"{'':<14} {score['missing']} of them have no answer")
    return "\n".join(lines)
