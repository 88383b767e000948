#!/usr/bin/env python3
"""Writes facts.jsonl, 400 facts about people under 40 sets of tags, and expected.json, the
observations that they should become. Both follow from the seed alone.

usage: make.py [FOLDER]    default: the folder of this file
"""

import datetime
import json
import random
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Iterator

sys.dont_write_bytecode = True  # nothing may be written beside the sources
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tools/demo_model"))

from tasks.attributes import ATTRIBUTES, Attribute, refined  # noqa: E402
from tasks.consolidation import KINDS, MOST_FACTS, entities, said  # noqa: E402
from tasks.wording import between, chance, pick  # noqa: E402
from tasks.words import Words, words_of  # noqa: E402

SEED = "memory/1"
FACTS = 400
OFFICES = 30
# So many of the offices also have facts with a second tag, about the same people. Nothing of them
# may show under the first tag alone.
OFFICES_WITH_SECRETS = 10
FACTS_OF_TAGS_MIN, FACTS_OF_TAGS_MAX = 3, 25
# At any time, under one set of tags: few, because the demo model is shown five for each prompt.
OBSERVATIONS_MAX = 6
EXACT = 0.25  # of the new values
WORD_FOR_WORD = 0.5  # of the repetitions
FIRST_TIME = datetime.datetime(2026, 3, 2, 8, tzinfo=datetime.timezone.utc)
MINUTES_APART = 7


@dataclass(eq=False)
class Thing:
    """An attribute of a person, as the facts have told it so far."""

    attribute: Attribute
    person: str
    value: str = ""  # empty: nothing is true now
    is_exact: bool = False
    facts: int = 0  # behind the observation
    values: list[str] = field(default_factory=list)  # all there ever were
    told: dict[str, str] = field(default_factory=dict)  # facts behind this value, by wording

    def text(self, value: str) -> str:
        return self.attribute.normal.format(e=self.person, v=value)

    def can(self, kind: str) -> bool:
        if kind == "new":
            return not self.value
        return bool(self.value) and not (kind == "refined" and self.is_exact)

    def tell(self, kind: str, rng: random.Random, words: Words) -> str:
        """The next fact. Changes what is true."""
        if kind == "ended":
            return self._end(rng)
        if kind == "repeated":
            return self._repeat(rng)
        if kind == "new":
            self.facts = 0
        if kind == "refined":
            self.value = refined(self.attribute, self.value, rng, words)
            self.is_exact = True
        else:
            self.value = self._another_value(rng, words)
        self.values.append(self.value)
        self.facts += 1
        wording = pick(rng, self.attribute.statements)
        self.told = {wording: said(rng, wording, self.person, self.value)}
        return self.told[wording]

    def _another_value(self, rng: random.Random, words: Words) -> str:
        """None that comes back: a fact of old would be told twice and mean two things."""
        while True:
            value = self.attribute.value(rng, words)
            if any(value in old or old in value for old in self.values):
                continue
            self.is_exact = chance(rng, EXACT)
            return refined(self.attribute, value, rng, words) if self.is_exact else value

    def _end(self, rng: random.Random) -> str:
        fact = said(rng, pick(rng, self.attribute.ended), self.person, self.value)
        self.value = ""
        return fact

    def _repeat(self, rng: random.Random) -> str:
        """Word for word it is one more fact behind the observation, without a model. In other words
        it is known, and the demo model has learned to do nothing about it."""
        if chance(rng, WORD_FOR_WORD):
            self.facts += 1
            return pick(rng, list(self.told.values()))
        others = [wording for wording in self.attribute.statements if wording not in self.told]
        return said(rng, pick(rng, others), self.person, self.value)


@dataclass
class Story:
    """The facts of one set of tags, in order, and the observations that are left at the end."""

    tags: list[str]
    facts: list[str]
    observations: list[dict[str, Any]]


def _next(rng: random.Random, things: list[Thing], recent: list[Thing]) -> tuple[str, Thing]:
    is_full = sum(bool(thing.value) for thing in things) == OBSERVATIONS_MAX
    while True:
        kind = pick(rng, KINDS)
        able = [thing for thing in things if thing.can(kind) and thing not in recent]
        if able and not (kind == "new" and is_full):
            return kind, pick(rng, able)


def _story(rng: random.Random, words: Words, tags: list[str], people: list[str],
           size: int) -> Story:
    things = [Thing(attribute, person) for person in people for attribute in ATTRIBUTES]
    facts: list[str] = []
    recent: list[Thing] = []  # what the facts before were about, which one prompt could share
    while len(facts) < size:
        kind, thing = _next(rng, things, recent)
        facts.append(thing.tell(kind, rng, words))
        recent = [*recent, thing][-(MOST_FACTS - 1):]
    observations = [{"text": thing.text(thing.value), "about": thing.text("\0").partition("\0")[0],
                     "facts": thing.facts}
                    for thing in things if thing.value]
    return Story(tags, facts, sorted(observations, key=lambda one: one["text"]))


def _sizes(rng: random.Random, count: int) -> list[int]:
    """Uneven: many small ones, some large ones, FACTS in all."""
    span = FACTS_OF_TAGS_MAX - FACTS_OF_TAGS_MIN
    sizes = [FACTS_OF_TAGS_MIN + int(span * rng.random() ** 1.8) for _ in range(count)]
    while sum(sizes) != FACTS:
        place = between(rng, 0, count - 1)
        size = sizes[place] + (1 if sum(sizes) < FACTS else -1)
        if FACTS_OF_TAGS_MIN <= size <= FACTS_OF_TAGS_MAX:
            sizes[place] = size
    return sizes


def stories() -> list[Story]:
    rng, words = random.Random(SEED), words_of("test")
    offices = words.distinct("place", OFFICES, rng)
    people = {office: entities(rng, words) for office in offices}
    tag_sets = [(office, [f"office:{office}"]) for office in offices]
    tag_sets += [(office, [f"office:{office}", "confidential"])
                 for office in offices[:OFFICES_WITH_SECRETS]]
    return [_story(rng, words, tags, people[office], size)
            for (office, tags), size in zip(tag_sets, _sizes(rng, len(tag_sets)))]


def in_turn(told: list[Story]) -> Iterator[dict[str, Any]]:
    """The facts of all tags mixed, those of the same tags in their order."""
    turns = [number for number, story in enumerate(told) for _ in story.facts]
    random.Random(f"{SEED}/turns").shuffle(turns)
    ahead = [iter(story.facts) for story in told]
    for count, number in enumerate(turns):
        time = FIRST_TIME + datetime.timedelta(minutes=count * MINUTES_APART)
        yield {"content": next(ahead[number]), "tags": told[number].tags,
               "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ")}


def write(folder: Path) -> None:
    told = stories()
    with open(folder / "facts.jsonl", "w", encoding="utf-8", newline="\n") as file:
        for item in in_turn(told):
            file.write(json.dumps(item, ensure_ascii=False) + "\n")
    expected = [{"tags": story.tags, "observations": story.observations} for story in told]
    with open(folder / "expected.json", "w", encoding="utf-8", newline="\n") as file:
        json.dump(expected, file, ensure_ascii=False, indent=1)
        file.write("\n")


def main() -> int:
    if len(sys.argv) > 2 or any(word.startswith("-") for word in sys.argv[1:]):
        print(__doc__, file=sys.stderr)
        return 2
    write(Path(sys.argv[1]) if len(sys.argv) == 2 else HERE)
    return 0


if __name__ == "__main__":
    sys.exit(main())
