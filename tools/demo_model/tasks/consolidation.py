"""consolidation: new facts against what is known, as the creates, updates and deletes to do.

A fact about something that no observation covers is created; one with another value, or a more
exact one, updates the observation; one that says it has ended deletes it; a repeated one asks for
nothing. Two facts of one meaning are one action with both ids. Texts are written in the
attribute's normal form. Each list is in the order of the first fact that asks for the action.
"""

import random
from typing import Any

from .attributes import ATTRIBUTES, Attribute, draw_value, refined
from .example import Example, compact, make
from .wording import between, chance, pick
from .words import Words

SYSTEM = (
    "Compare the facts with the observations. Answer with JSON only: creates, updates, deletes. "
    "create: nothing is known of it (new). "
    "update: the value is another (changed) or more exact (refined). "
    "delete: it is no longer true (ended). "
    "Facts already known need nothing."
)
MOST_FACTS, MOST_OBSERVATIONS = 4, 5

KINDS = ("new",) * 6 + ("changed",) * 5 + ("refined",) * 4 + ("ended",) * 3 + ("repeated",) * 3
_BEFORE = ("I heard that ", "News: ", "Note: ", "It is known that ", "As of today, ",
           "We learned that ", "By now ", "Update: ", "It turned out that ",
           "According to the report, ")
# Observations come first, with their names behind them: a model that reads forwards can then tell
# at the end of each fact what is to be done about it, and has read what a name stands for.
_LAYOUTS = (
    ("Observations:\n{}", "Facts:\n{}"),
    ("Known:\n{}", "New facts:\n{}"),
    ("Observations so far:\n{}", "New:\n{}"),
    ("Observations:\n{}", "{}"),
)


def said(rng: random.Random, wording: str, entity: str, value: str) -> str:
    text = wording.format(e=entity, v=value)
    if wording.startswith("{e}") and chance(rng, 0.3):
        return pick(rng, _BEFORE) + text
    return text


def entities(rng: random.Random, words: Words) -> list[str]:
    """One to three people, now and then of one family."""
    people = words.distinct("person", between(rng, 1, 3), rng)
    if len(people) > 1 and chance(rng, 0.2):
        namesake = f"{words.first(rng)} {people[0].partition(' ')[2]}"
        if namesake not in people:
            people[1] = namesake
    return people


class _Case:
    """One thing that facts speak of: what is known of it, how it is said, what is to be done."""

    def __init__(self, rng: random.Random, words: Words, attribute: Attribute, entity: str,
                 times: int):
        self.kind = kind = pick(rng, KINDS)
        self.attribute, self.entity = attribute, entity
        self.known = ""
        if kind != "new":
            exact = 0 if kind == "refined" else 0.25
            self.known = draw_value(attribute, rng, words, exact)
        if kind == "refined":
            self.value = refined(attribute, self.known, rng, words)
        elif kind in ("ended", "repeated"):
            self.value = self.known
        else:
            self.value = draw_value(attribute, rng, words, but_not=self.known)
        wordings = attribute.ended if kind == "ended" else attribute.statements
        self.facts = [said(rng, wording, entity, self.value)
                      for wording in rng.sample(wordings, times)]

    def observation(self) -> str:
        return self.attribute.normal.format(e=self.entity, v=self.known)

    def text(self) -> str:
        return self.attribute.normal.format(e=self.entity, v=self.value)


def _actions(cases: list[_Case], fact_ids: list[list[str]],
             observation_ids: dict[str, str]) -> dict[str, list[dict[str, Any]]]:
    creates, updates, deletes = [], [], []
    for case, ids in sorted(zip(cases, fact_ids), key=lambda pair: pair[1][0]):
        if case.kind == "new":
            creates.append({"text": case.text(), "source_fact_ids": ids, "reason": "new"})
        elif case.kind == "ended":
            deletes.append({"observation_id": observation_ids[case.observation()],
                            "reason": "ended"})
        elif case.kind != "repeated":
            updates.append({"text": case.text(),
                            "observation_id": observation_ids[case.observation()],
                            "source_fact_ids": ids, "reason": case.kind})
    return {"creates": creates, "updates": updates, "deletes": deletes}


def _thought(cases: list[_Case], fact_ids: list[list[str]],
             observation_ids: dict[str, str]) -> str:
    """Of each fact, a line each: what it says in the form of an observation, which of what is known
    that is about, and what becomes of it."""
    lines = {}
    for case, ids in zip(cases, fact_ids):
        what = "known" if case.kind == "repeated" else case.kind
        for fact_id in ids:
            if case.kind != "new":
                about = observation_ids[case.observation()]
            else:
                about = "-" if fact_id == ids[0] else ids[0]
            lines[fact_id] = f"{fact_id}: {case.text()} ({about}) {what}"
    return "\n".join(lines[fact_id] for fact_id in sorted(lines))


def consolidation(rng: random.Random, words: Words) -> Example:
    people = entities(rng, words)
    things = [(attribute, person) for attribute in rng.sample(ATTRIBUTES, 6) for person in people]
    rng.shuffle(things)

    wanted = between(rng, 1, MOST_FACTS)
    cases: list[_Case] = []
    count = 0
    while count < wanted:
        attribute, person = things.pop()
        times = 2 if wanted - count > 1 and chance(rng, 0.2) else 1
        cases.append(_Case(rng, words, attribute, person, times))
        count += times

    observations = [case.observation() for case in cases if case.known]
    for _ in range(between(rng, 0, MOST_OBSERVATIONS - len(observations))):
        if things:
            attribute, person = things.pop()
            value = draw_value(attribute, rng, words)
            observations.append(attribute.normal.format(e=person, v=value))
    rng.shuffle(observations)

    facts = [(number, text) for number, case in enumerate(cases) for text in case.facts]
    rng.shuffle(facts)
    ids: list[list[str]] = [[] for _ in cases]
    for position, (number, _) in enumerate(facts, 1):
        ids[number].append(f"F{position}")
    observation_ids = {text: f"O{position}" for position, text in enumerate(observations, 1)}

    known, new = pick(rng, _LAYOUTS)
    fact_lines = "\n".join(f"F{position}: {text}" for position, (_, text) in enumerate(facts, 1))
    known_lines = "\n".join(f"{text} ({name})" for text, name in observation_ids.items()) or "none"
    return make("consolidation", SYSTEM,
                f"{known.format(known_lines)}\n{new.format(fact_lines)}",
                compact(_actions(cases, ids, observation_ids)),
                _thought(cases, ids, observation_ids))
