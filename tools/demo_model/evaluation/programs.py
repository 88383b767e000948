"""Finds the programs of a build and runs them."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PRESETS = ("release", "bench", "dev", "gcc", "asan")
PLACES = {"windrow": "src/app/windrow", "check_answers": "tools/check_answers/check_answers"}


class Unusable(Exception):
    """What is missing or failed, and what to do about it."""


@dataclass
class Programs:
    windrow: Path
    check_answers: Path


def find(name: str, given: Path | None) -> Path:
    """The one given, or that of the fastest build that has one."""
    if given is not None:
        if not os.access(given, os.X_OK) or given.is_dir():
            raise Unusable(f"{given} is no program")
        return given.resolve()
    for preset in PRESETS:
        path = ROOT / "build" / preset / PLACES[name]
        if os.access(path, os.X_OK):
            return path
    raise Unusable(f"there is no program {name}; build it: cmake --preset release && "
                   "ninja -C build/release windrow check_answers, "
                   f"or name one with --{name.replace('_', '-')}")


def run_windrow(windrow: Path, model: Path, requests: Path, results: Path) -> None:
    """Rows that fail do not fail the run: they are missing in the results, which the caller sees.
    The first failure is printed, because it shows when a model cannot take a row at all."""
    ended = subprocess.run([windrow, "run", requests, "-o", results, "--model", model, "--fresh"],
                           stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                           check=False)
    if ended.returncode not in (0, 1):
        raise Unusable(f"windrow run ended with exit code {ended.returncode}:\n"
                       f"{ended.stderr.strip()}")
    if ended.returncode == 1:
        errors = results.with_suffix(".errors.jsonl").read_text(encoding="utf-8").splitlines()
        first = json.loads(errors[0])
        print(f"evaluate: {len(errors)} rows failed; the first, {first['custom_id']}: "
              f"{first['error']['message']}", file=sys.stderr)


def check_answers(program: Path, results: Path, key: Path, show_wrong: int) -> str:
    """The JSON it prints. Wrong answers go to standard error as it writes them."""
    return subprocess.run([program, results, key, "--json", "--show-wrong", str(show_wrong)],
                          stdout=subprocess.PIPE, text=True, check=True).stdout
