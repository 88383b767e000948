"""Compares the observations of a bank with those that were expected, under each set of tags."""

from dataclasses import dataclass, field
from typing import Any

Observation = dict[str, Any]


@dataclass
class Score:
    expected: int = 0
    found: int = 0
    right: int = 0  # the text as expected, under the right tags
    wrong: int = 0  # expected and found, with another text
    missing: int = 0  # expected, and nothing about it was found
    extra: int = 0  # found, and nothing about it was expected
    facts_right: int = 0  # of `right`: with as many facts behind it as expected
    # One line for each observation that is not right: whether it is wrong, missing or extra, and
    # the expected and the found text.
    differences: list[str] = field(default_factory=list)

    @property
    def percent(self) -> float:
        """An observation too many counts as much as one too few."""
        judged = self.expected + self.extra
        return 100 * self.right / judged if judged else 100.0


def _judge(tags: str, expected: list[Observation], found: list[Observation], score: Score) -> None:
    left = list(found)
    open_ones = []
    for wanted in expected:
        same = next((one for one in left if one["text"] == wanted["text"]), None)
        if same is None:
            open_ones.append(wanted)
            continue
        left.remove(same)
        score.right += 1
        score.facts_right += same["proof_count"] == wanted["facts"]
    for wanted in open_ones:
        about = next((one for one in left if one["text"].startswith(wanted["about"])), None)
        if about is None:
            score.missing += 1
            score.differences.append(f"missing [{tags}] {wanted['text']}")
            continue
        left.remove(about)
        score.wrong += 1
        score.differences.append(f"wrong   [{tags}] {about['text']}  expected: {wanted['text']}")
    score.extra += len(left)
    score.differences += [f"extra   [{tags}] {one['text']}" for one in left]


def compare(expected: list[dict[str, Any]], found: list[Observation]) -> Score:
    """`expected` as in expected.json; `found` as `windrow memory show BANK --json` lists them."""
    score = Score(expected=sum(len(one["observations"]) for one in expected), found=len(found))
    by_tags: dict[tuple[str, ...], list[Observation]] = {}
    for one in found:
        by_tags.setdefault(tuple(sorted(one["tags"])), []).append(one)
    for one in expected:
        tags = tuple(sorted(one["tags"]))
        _judge(", ".join(tags), one["observations"], by_tags.pop(tags, []), score)
    for tags, rest in by_tags.items():
        _judge(", ".join(tags), [], rest, score)
    return score
