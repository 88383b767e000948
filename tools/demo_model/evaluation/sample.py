"""Writes the small held-out sample that the tests of the models keep: tests/models/*.jsonl.

    python3 -m evaluation.sample [FOLDER]

Run it in tools/demo_model, and only when a task changed: the floors in the tests belong to these
rows.
"""

import json
import sys
from pathlib import Path

from tasks import TASKS, batch, example
from tasks import facts as held_out_facts

from . import embeddings, programs

ROWS = 25  # of each task
QUERIES, FACTS = 50, 200  # of the embeddings; each query's fact is among the facts


def write_tasks(folder: Path) -> None:
    for task in TASKS:
        rows = ((f"{task}-{seed}", example(task, "test", seed)) for seed in range(ROWS))
        batch.write(rows, folder / f"{task}.jsonl", folder / f"{task}.key.jsonl")


def write_embeddings(folder: Path) -> None:
    """The key names the fact of each query, in the form of the other keys."""
    held_out = held_out_facts.held_out("test", 0)
    queries = held_out.queries[:QUERIES]
    wanted = {query.fact for query in queries}
    others = [index for index in range(len(held_out.facts)) if index not in wanted]
    kept = sorted([*wanted, *others[:FACTS - len(wanted)]])
    texts = {f"fact-{index}": held_out.facts[index] for index in kept}
    texts |= {f"query-{index}": query.text for index, query in enumerate(queries)}
    embeddings.write_requests(texts, folder / "embeddings.jsonl")
    with open(folder / "embeddings.key.jsonl", "w", encoding="utf-8", newline="\n") as key:
        for index, query in enumerate(queries):
            row = {"custom_id": f"query-{index}", "task": "embeddings",
                   "answer": f"fact-{query.fact}"}
            key.write(json.dumps(row) + "\n")


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else programs.ROOT / "tests/models"
    write_tasks(folder)
    write_embeddings(folder)


if __name__ == "__main__":
    main()
