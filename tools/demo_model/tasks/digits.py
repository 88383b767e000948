"""sort, merge, sum and sort32: the parts that a graph-of-thought program composes.

Beside them merges and sums of one size, to be measured alone, and sort64, which is measured and
never learned.

Lists are digits separated by one space, so each digit is a token of its own. The first wording of
each task is the plain one, the one a program should use.
"""

import random

from .example import Example, compact, make
from .wording import between, chance, pick
from .words import Words

SORT_SYSTEM = "Sort the digits. Answer with all of them, smallest first, separated by spaces."
SORT_WORDINGS = (
    "Sort: {}",
    "Sort {}",
    "Sort these digits: {}",
    "Please sort: {}",
    "Put these digits in order: {}",
    "Put in order, smallest first: {}",
    "Order from small to large: {}",
    "Arrange in ascending order: {}",
    "Digits: {}",
    "List: {}",
    "Unsorted: {}",
    "These are out of order: {}",
    "Which order do these belong in? {}",
    "I need {} sorted.",
    "What is {} in ascending order?",
    "{}",
)

MERGE_SYSTEM = ("Merge two sorted lists of digits into one sorted list. Answer with all digits, "
                "smallest first, separated by spaces.")
MERGE_WORDINGS = (
    "Merge:\nA: {}\nB: {}",
    "Merge\n{}\nand\n{}",
    "A: {}\nB: {}",
    "First: {}\nSecond: {}",
    "Merge these lists:\n1) {}\n2) {}",
    "List one: {}\nList two: {}",
    "Left: {}\nRight: {}\nMerge them.",
    "Join in order:\n- {}\n- {}",
    "Please merge [{}] and [{}].",
    "Two sorted lists: [{}] [{}]",
)
LONGEST_HALF = 32

SUM_SYSTEM = 'Add the numbers. Answer as JSON: {"steps":[running sums],"sum":total}.'
SUM_WORDINGS = (
    "Add: {}",
    "Sum: {}",
    "Add these numbers: {}",
    "What is the sum of {}?",
    "What is {} in total?",
    "Please add {}.",
    "Total of {}?",
    "How much is {}?",
    "Numbers: {}",
    "{} =",
)
SUM_SEPARATORS = (" + ", " + ", ", ", " ", " and ", " plus ")


def _spaced(digits: list[int]) -> str:
    return " ".join(map(str, digits))


def _digits(rng: random.Random, count: int) -> list[int]:
    return [int(rng.random() * 10) for _ in range(count)]


def _sort(task: str, rng: random.Random, count: int) -> Example:
    digits = _digits(rng, count)
    return make(task, SORT_SYSTEM, pick(rng, SORT_WORDINGS).format(_spaced(digits)),
                _spaced(sorted(digits)))


def sort(rng: random.Random, words: Words) -> Example:
    return _sort("sort", rng, 8)


def sort32(rng: random.Random, words: Words) -> Example:
    return _sort("sort32", rng, 32)


def sort64(rng: random.Random, words: Words) -> Example:
    return _sort("sort64", rng, 64)


def _merge_sizes(rng: random.Random) -> tuple[int, int]:
    """Half are the sizes that a merge sort of 16, 32 or 64 digits needs, the others are any."""
    kind = rng.random()
    for size, below in ((8, 0.1), (16, 0.25), (LONGEST_HALF, 0.5)):
        if kind < below:
            return size, size
    left, right = between(rng, 1, LONGEST_HALF), between(rng, 1, LONGEST_HALF)
    if chance(rng, 0.06):
        return (0, right) if chance(rng, 0.5) else (left, 0)
    return left, right


def _merge(task: str, rng: random.Random, left_size: int, right_size: int) -> Example:
    left, right = sorted(_digits(rng, left_size)), sorted(_digits(rng, right_size))
    return make(task, MERGE_SYSTEM,
                pick(rng, MERGE_WORDINGS).format(_spaced(left), _spaced(right)),
                _spaced(sorted(left + right)))


def merge(rng: random.Random, words: Words) -> Example:
    return _merge("merge", rng, *_merge_sizes(rng))


def merge8(rng: random.Random, words: Words) -> Example:
    return _merge("merge8", rng, 8, 8)


def merge16(rng: random.Random, words: Words) -> Example:
    return _merge("merge16", rng, 16, 16)


def merge32(rng: random.Random, words: Words) -> Example:
    return _merge("merge32", rng, 32, 32)


def _sum(task: str, rng: random.Random, most: int) -> Example:
    """The running sums come first, so that no answer needs more than one addition at a time."""
    numbers = [between(rng, 10, most) for _ in range(between(rng, 2, 4))]
    running = [sum(numbers[:count]) for count in range(2, len(numbers) + 1)]
    text = pick(rng, SUM_SEPARATORS).join(map(str, numbers))
    return make(task, SUM_SYSTEM, pick(rng, SUM_WORDINGS).format(text),
                compact({"steps": running[:-1], "sum": running[-1]}))


def sum_up(rng: random.Random, words: Words) -> Example:
    """Half have two digits. The others are partial sums of up to four such numbers, or any of three
    digits."""
    kind = rng.random()
    return _sum("sum", rng, 99 if kind < 0.5 else 4 * 99 if kind < 0.85 else 999)


def sum2(rng: random.Random, words: Words) -> Example:
    return _sum("sum2", rng, 99)


def sum3(rng: random.Random, words: Words) -> Example:
    return _sum("sum3", rng, 999)
