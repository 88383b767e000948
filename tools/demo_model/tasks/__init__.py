"""Seeded synthetic tasks: what the demo model learns, and what it is tested on.

An example depends on the task's name, the split and the seed alone, on every machine. Names of
persons, companies, places and pets differ between the splits, and so do all requests; wordings are
shared.
"""

import random
from typing import Callable

from .consolidation import consolidation
from .digits import merge, merge8, merge16, merge32, sort, sort32, sort64, sum2, sum3, sum_up
from .example import Example
from .extraction import extraction
from .screening import screening
from .tool_calling import render_system, tool_calling
from .words import Words, split_of, words_of

Task = Callable[[random.Random, Words], Example]


def _apart(task: Task) -> Task:
    """For tasks whose requests are few, or often without a name: the user's text belongs to one
    split by its hash, as a name does, or both splits would have some requests in common."""
    def draw(rng: random.Random, words: Words) -> Example:
        while True:
            made = task(rng, words)
            if split_of(made.messages[1]["content"]) == words.split:
                return made
    return draw


TASKS: dict[str, Task] = {
    "screening": screening,
    "extraction": extraction,
    "consolidation": consolidation,
    "sort": _apart(sort),
    "merge": _apart(merge),
    "sum": _apart(sum_up),
    "sort32": _apart(sort32),
    "tool_calling": _apart(tool_calling),
}

# Measured beside the tasks, and never drawn in training: parts of a task, and what is beyond them.
PROBES: dict[str, Task] = {
    "merge8": _apart(merge8),
    "merge16": _apart(merge16),
    "merge32": _apart(merge32),
    "sum2": _apart(sum2),
    "sum3": _apart(sum3),
    "sort64": _apart(sort64),
}


def example(task: str, split: str, seed: int) -> Example:
    make = TASKS.get(task) or PROBES[task]
    return make(random.Random(f"{task}/{split}/{seed}"), words_of(split))


__all__ = ["PROBES", "TASKS", "Example", "Words", "example", "render_system", "words_of"]
