"""Questions for the graph-of-thought comparison, from a seed: the same on every machine."""

import random


def sorting(seed, count, digits=64):
    rng = random.Random(f"sorting {seed}")
    made = []
    for _ in range(count):
        listed = [int(rng.random() * 10) for _ in range(digits)]
        made.append({"input": {"list": listed}, "answer": sorted(listed)})
    return made


def sums(seed, count, numbers=16):
    rng = random.Random(f"sums {seed}")
    made = []
    for _ in range(count):
        listed = [10 + int(rng.random() * 90) for _ in range(numbers)]
        made.append({"input": {"numbers": listed}, "answer": sum(listed)})
    return made


QUESTIONS = {"sorting": sorting, "sums": sums}
