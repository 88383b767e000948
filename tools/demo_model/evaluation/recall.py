"""Whether the right fact is among the nearest: pure, on lists of numbers."""

import math
from operator import mul

AT = (1, 5, 10)


def unit(vector: list[float]) -> list[float]:
    """Of length 1, so that a product of two is their cosine. Nothing points nowhere."""
    length = math.sqrt(sum(map(mul, vector, vector)))
    return [number / length for number in vector] if length > 0 else vector


def rank(query: list[float], facts: list[list[float]], right: int) -> int:
    """How many facts are at least as near as the right one, which is not counted: 0 is the best.

    Ties count against it, or a model that gives every text the same vector would be perfect.
    """
    near = [sum(map(mul, query, fact)) for fact in facts]
    return sum(1 for cosine in near if cosine >= near[right]) - 1


def recall(facts: list[list[float]], queries: list[tuple[list[float], int]]) -> dict[int, float]:
    """{k: share of the queries whose right fact is among the k nearest}; a query comes with the
    index of its fact."""
    facts = [unit(fact) for fact in facts]
    ranks = [rank(unit(query), facts, right) for query, right in queries]
    return {k: sum(1 for place in ranks if place < k) / len(ranks) for k in AT}
