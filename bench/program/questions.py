"""Questions for graph of thought, from a seed: the same on every machine. Each is a list and the
right answer."""

import random


def sorting(seed, count, digits=64):
    rng = random.Random(f"sorting {seed}")
    lists = [[int(rng.random() * 10) for _ in range(digits)] for _ in range(count)]
    return [(listed, sorted(listed)) for listed in lists]


def sums(seed, count, numbers=16):
    rng = random.Random(f"sums {seed}")
    lists = [[10 + int(rng.random() * 90) for _ in range(numbers)] for _ in range(count)]
    return [(listed, sum(listed)) for listed in lists]


def four_numbers(seed, count):
    rng = random.Random(f"four numbers {seed}")
    lists = [[100 + int(rng.random() * 900) for _ in range(4)] for _ in range(count)]
    return [(listed, sum(listed)) for listed in lists]


QUESTIONS = {"sorting": sorting, "sums": sums, "four_numbers": four_numbers}
