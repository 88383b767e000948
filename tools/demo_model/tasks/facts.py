"""Data for the embeddings: sentences about one attribute of one person belong together.

A person has several attributes and an attribute several persons, so neither alone says which two
sentences are a pair.
"""

import random
from dataclasses import dataclass

from .attributes import ATTRIBUTES, Attribute, draw_value
from .wording import chance, pick
from .words import Words, words_of

HELD_OUT_PEOPLE, ATTRIBUTES_OF_PERSON = 250, 4


def _pair(rng: random.Random, words: Words, entity: str, attribute: Attribute) -> tuple[str, str]:
    value = draw_value(attribute, rng, words)
    if chance(rng, 0.5):
        first, second = pick(rng, attribute.questions), pick(rng, attribute.statements)
    else:
        first, second = rng.sample(attribute.statements, 2)
    return first.format(e=entity, v=value), second.format(e=entity, v=value)


def pair(rng: random.Random, words: Words) -> tuple[str, str]:
    """A question and its answer, or one statement in two wordings."""
    return _pair(rng, words, words.person(rng), pick(rng, ATTRIBUTES))


def pairs(rng: random.Random, words: Words, people: int, attributes: int) -> list[tuple[str, str]]:
    """For training by contrast: people x attributes pairs, no two about the same thing, and for
    each pair others with the same person, and some with the same attribute."""
    return [_pair(rng, words, person, attribute)
            for person in words.distinct("person", people, rng)
            for attribute in rng.sample(ATTRIBUTES, attributes)]


@dataclass(frozen=True)
class Query:
    text: str
    fact: int  # the index of the one fact that answers it


@dataclass(frozen=True)
class HeldOut:
    facts: list[str]
    queries: list[Query]


def held_out(split: str = "test", seed: int = 1) -> HeldOut:
    """1,000 facts in any order, and for each a query, which is a question or another wording."""
    rng, words = random.Random(f"facts/{split}/{seed}"), words_of(split)
    rows = [_pair(rng, words, person, attribute)
            for person in words.distinct("person", HELD_OUT_PEOPLE, rng)
            for attribute in rng.sample(ATTRIBUTES, ATTRIBUTES_OF_PERSON)]
    rng.shuffle(rows)
    queries = [Query(query, index) for index, (query, _) in enumerate(rows)]
    rng.shuffle(queries)
    return HeldOut([fact for _, fact in rows], queries)
