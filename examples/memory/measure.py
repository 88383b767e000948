"""Retains facts.jsonl into a bank, consolidates it with the demo model, and prints how many of the
observations are those of expected.json. `run` beside it builds windrow first."""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.dont_write_bytecode = True  # nothing may be written beside the sources

from compare import Score, compare  # noqa: E402

HERE = Path(__file__).resolve().parent
MODELS = HERE.parents[1] / "models"
CHAT, EMBED = MODELS / "windrow-demo.gguf", MODELS / "windrow-embed.gguf"
FACTS, EXPECTED = HERE / "facts.jsonl", HERE / "expected.json"
PERCENT_MIN = 60  # less, and something is broken


class Unusable(Exception):
    """What is missing or failed, and what to do about it."""


@dataclass
class Run:
    """One consolidation of all facts."""

    name: str
    score: Score
    end: dict[str, Any]  # what windrow says at the end


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="run", description=__doc__)
    parser.add_argument("--windrow", type=Path, required=True, metavar="FILE",
                        help="the program (./run builds it without this)")
    parser.add_argument("--serial", action="store_true",
                        help="consolidate a second bank with one call at a time, and compare")
    parser.add_argument("--keep", type=Path, metavar="FOLDER",
                        help="where the banks stay (default: nowhere)")
    parser.add_argument("--show-wrong", type=int, default=10, metavar="N",
                        help="observations that are not right, at most (default: %(default)s)")
    return parser.parse_args()


def check_files(windrow: Path) -> None:
    for file in (CHAT, EMBED, FACTS, EXPECTED):
        if not file.is_file():
            raise Unusable(f"{file} is missing; it is a part of the repository: git checkout -- "
                           f"{file}")
    if not os.access(windrow, os.X_OK) or windrow.is_dir():
        raise Unusable(f"{windrow} is no program; name the windrow of a build with --windrow, or "
                       "leave that out and it is built")


def ask(windrow: Path, *words: str | Path, also_good: tuple[int, ...] = ()) -> list[dict[str, Any]]:
    """The JSON lines that a command prints. Its notes go to standard error as they come."""
    ended = subprocess.run([windrow, "memory", *words, "--json"], stdout=subprocess.PIPE,
                           text=True, check=False)
    if ended.returncode not in (0, *also_good):
        raise Unusable(f"windrow memory {words[0]} ended with exit code {ended.returncode}; the "
                       "lines above say why")
    return [json.loads(line) for line in ended.stdout.splitlines()]


def consolidate(name: str, windrow: Path, bank: Path, *settings: str) -> Run:
    # Word for word: each line is a fact already.
    ask(windrow, "retain", bank, FACTS, "--embed", EMBED,
        "--memory-set", "retain_extraction_mode=verbatim")
    print(f"examples/memory: consolidating, {name}", file=sys.stderr)
    words = ["--memory-set", "prompt_profile=demo"]
    for setting in settings:
        words += ["--memory-set", setting]
    # 1: some facts could not be consolidated, which the score shows.
    events = ask(windrow, "consolidate", bank, "--model", CHAT, "--embed", EMBED, *words,
                 also_good=(1,))
    ends = [event for event in events if event.get("event") == "end"]
    if not ends:
        raise Unusable("windrow memory consolidate printed no line about its end; is this windrow "
                       "of another version than the example?")
    shown = ask(windrow, "show", bank)[-1]
    expected = json.loads(EXPECTED.read_text(encoding="utf-8"))
    return Run(name, compare(expected, shown["observations"]), ends[-1])


def share(end: dict[str, Any]) -> float:
    """Percent of the prompts' tokens that the model had computed before."""
    return 100 * end["cached_tokens"] / max(end["input_tokens"], 1)


def table(runs: list[Run]) -> str:
    rows = [("", [run.name for run in runs])]

    def row(name: str, *figures: str) -> None:
        rows.append((name, list(figures)))

    row("facts", *(f"{run.end['facts']}" for run in runs))
    row("facts failed", *(f"{run.end['facts_failed']}" for run in runs))
    row("observations expected", *(f"{run.score.expected}" for run in runs))
    row("observations found", *(f"{run.score.found}" for run in runs))
    row("exactly right", *(f"{run.score.right}" for run in runs))
    row("  and facts behind them", *(f"{run.score.facts_right}" for run in runs))
    row("missing", *(f"{run.score.missing}" for run in runs))
    row("wrong", *(f"{run.score.wrong}" for run in runs))
    row("extra", *(f"{run.score.extra}" for run in runs))
    row("accuracy", *(f"{run.score.percent:.1f} %" for run in runs))
    row("LLM calls", *(f"{run.end['llm_calls']}" for run in runs))
    row("tokens of prompts", *(f"{run.end['input_tokens']}" for run in runs))
    row("  of these cached", *(f"{share(run.end):.1f} %" for run in runs))
    row("seconds", *(f"{run.end['wall_s']:.2f}" for run in runs))
    row("mean calls in flight", *(f"{run.end['mean_in_flight']:.2f}" for run in runs))
    lines = [f"{name:<24}" + "".join(f"{figure:>14}" for figure in figures)
             for name, figures in rows]
    if len(runs) == 2:
        ratio = runs[1].end["wall_s"] / max(runs[0].end["wall_s"], 1e-9)
        lines.append(f"{'one at a time takes':<24}{ratio:>14.2f} times as long")
    return "\n".join(lines)


def measure(options: argparse.Namespace, folder: Path) -> list[Run]:
    plans = [("side by side", "side_by_side.bank", ())]
    if options.serial:
        plans.append(("one at a time", "one_at_a_time.bank", ("consolidation_llm_parallelism=1",)))
    for _, bank, _ in plans:
        if (folder / bank).exists():
            raise Unusable(f"{folder / bank} is there already; name another folder with --keep, "
                           "because a bank that has the facts would be told them twice")
    return [consolidate(name, options.windrow.resolve(), folder / bank, *settings)
            for name, bank, settings in plans]


def main() -> int:
    options = arguments()
    try:
        check_files(options.windrow)
        if options.keep is not None:
            options.keep.mkdir(parents=True, exist_ok=True)
            runs = measure(options, options.keep)
        else:
            with tempfile.TemporaryDirectory(prefix="windrow-memory-") as folder:
                runs = measure(options, Path(folder))
    except Unusable as problem:
        print(f"examples/memory: {problem}", file=sys.stderr)
        return 2
    for run in runs:
        for difference in run.score.differences[:options.show_wrong]:
            print(f"{run.name}: {difference}")
    print(table(runs))
    return 0 if all(run.score.percent >= PERCENT_MIN for run in runs) else 1


if __name__ == "__main__":
    sys.exit(main())
