"""Prints examples, or writes them as Batch files with their keys. Run it in tools/demo_model.

    python3 -m tasks show [TASK ...] [--count N]
    python3 -m tasks batch REQUESTS.jsonl KEY.jsonl [--tasks A,B] [--count N]
    python3 -m tasks candidates REQUESTS.jsonl KEY.jsonl
"""

import argparse
from pathlib import Path
from typing import Iterable, Iterator

from . import TASKS, batch, example
from .example import Example
from .words import SPLITS


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tasks", description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)

    show = commands.add_parser("show", help="print examples as a reader sees them")
    show.add_argument("tasks", nargs="*", metavar="TASK", help="default: all")
    write = commands.add_parser("batch", help="write a Batch file and its key")
    write.add_argument("--tasks", metavar="A,B,...", default=",".join(TASKS),
                       help="default: %(default)s")
    for command, split, count in ((show, "train", 3), (write, "test", 100)):
        command.add_argument("--count", type=int, default=count, metavar="N",
                             help="of each task (default: %(default)s)")
        command.add_argument("--first-seed", type=int, default=0, metavar="N",
                             help="of the first example (default: %(default)s)")
        command.add_argument("--split", choices=SPLITS, default=split,
                             help="whose names (default: %(default)s)")

    all_files = (write, commands.add_parser(
        "candidates", help=f"write {batch.JOBS * batch.CANDIDATES_OF_JOB} held-out candidates"))
    for command in all_files:
        command.add_argument("requests", type=Path, metavar="REQUESTS.jsonl")
        command.add_argument("key", type=Path, metavar="KEY.jsonl")

    options = parser.parse_args()
    if options.command != "candidates":
        names = options.tasks if options.command == "show" else options.tasks.split(",")
        options.tasks = names or list(TASKS)
        for name in options.tasks:
            if name not in TASKS:
                parser.error(f"no such task: {name}; there are {', '.join(TASKS)}")
    return options


def chosen(options: argparse.Namespace) -> Iterator[tuple[str, Example]]:
    for name in options.tasks:
        for seed in range(options.first_seed, options.first_seed + options.count):
            yield f"{name}-{seed}", example(name, options.split, seed)


def print_all(rows: Iterable[tuple[str, Example]]) -> None:
    for custom_id, row in rows:
        print(f"== {custom_id}")
        for message in row.messages:
            print(f"[{message['role']}] {message['content']}")
        for tool in row.tools or []:
            print(f"[tool] {tool['function']['name']}: {tool['function']['description']}")
        print(f"[answer] {row.answer}\n")


def main() -> None:
    options = arguments()
    if options.command == "show":
        print_all(chosen(options))
        return
    rows = chosen(options) if options.command == "batch" else batch.candidates()
    print(f"{batch.write(rows, options.requests, options.key)} rows")


if __name__ == "__main__":
    main()
