"""Seeded synthetic tasks: what the demo model learns, and what it is tested on.

An example depends on the task's name, the split and the seed alone, on every machine. Names of
persons, companies, places and pets differ between the splits, and so do all requests; wordings are
shared.
"""

import random
from typing import Callable

from .consolidation import consolidation
from .digits import merge, sort, sort32, sum_up
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


def example(task: str, split: str, seed: int) -> Example:
    return TASKS[task](random.Random(f"{task}/{split}/{seed}"), words_of(split))


__all__ = ["TASKS", "Example", "Words", "example", "render_system", "words_of"]
