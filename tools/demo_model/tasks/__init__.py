"""Seeded synthetic tasks: what the demo model learns, and what it is tested on.

An example depends on the task's name, the split and the seed alone, on every machine. Names of
persons, companies, places and pets differ between the splits; wordings are shared.
"""

import random
from typing import Callable

from .consolidation import consolidation
from .digits import merge, sort, sort32, sum_up
from .example import Example
from .extraction import extraction
from .screening import screening
from .tool_calling import render_system, tool_calling
from .words import Words, words_of

TASKS: dict[str, Callable[[random.Random, Words], Example]] = {
    "screening": screening,
    "extraction": extraction,
    "consolidation": consolidation,
    "sort": sort,
    "merge": merge,
    "sum": sum_up,
    "sort32": sort32,
    "tool_calling": tool_calling,
}


def example(task: str, split: str, seed: int) -> Example:
    return TASKS[task](random.Random(f"{task}/{split}/{seed}"), words_of(split))


__all__ = ["TASKS", "Example", "Words", "example", "render_system", "words_of"]
