"""Small helpers that all tasks write their sentences with."""

import random
from typing import Sequence, TypeVar

T = TypeVar("T")


def pick(rng: random.Random, choices: Sequence[T]) -> T:
    """As random.choice, at half its cost: tasks do little else."""
    return choices[int(rng.random() * len(choices))]


def chance(rng: random.Random, probability: float) -> bool:
    return rng.random() < probability


def between(rng: random.Random, least: int, most: int) -> int:
    """Both ends included."""
    return least + int(rng.random() * (most - least + 1))


def listed(items: Sequence[str], last: str = " and ") -> str:
    """"A", "A and B", "A, B and C"."""
    if len(items) < 2:
        return "".join(items)
    return ", ".join(items[:-1]) + last + items[-1]


def upper_first(text: str) -> str:
    return text[:1].upper() + text[1:]


def years(count: int) -> str:
    return "1 year" if count == 1 else f"{count} years"
