"""What is measured, and what is hoped for."""

import dataclasses

from child import Problem

CELLS_GRANULE = 256  # llama-server gives each slot a multiple of it
SPARE_TOKENS = 8


@dataclasses.dataclass(frozen=True)
class Target:
    least: float
    aim: float = 0

    def __str__(self):
        return f"target {self.least:g}" + (f", aim {self.aim:g}" if self.aim else "")


@dataclasses.dataclass(frozen=True)
class Shape:
    rows: int
    groups: int
    shared: int
    own: int
    answer: int
    rounds: int = 1  # the first is cold, the others are the same rows again
    at_once: int = 16
    shuffle: bool = False

    def cells(self):
        """Of the context of every contender: for `at_once` rows that share nothing."""
        row = self.shared + self.own + self.answer + SPARE_TOKENS
        return -(-row // CELLS_GRANULE) * CELLS_GRANULE * self.at_once

    def arguments(self):
        """As bench_engine takes them."""
        pairs = [("--rows", self.rows), ("--groups", self.groups), ("--shared", self.shared),
                 ("--own", self.own), ("--answer", self.answer), ("--at-once", self.at_once),
                 ("--cells", self.cells()), ("--rounds", self.rounds), ("--pairs", 1)]
        return [text for name, value in pairs for text in (name, str(value))] + (
            ["--shuffle"] if self.shuffle else [])

    def __str__(self):
        return (f"{self.rows} rows of {self.groups} group{'s' if self.groups > 1 else ''}"
                f"{', shuffled' if self.shuffle else ''}, {self.shared} shared + {self.own} own + "
                f"{self.answer} new tokens, {self.at_once} at once, {self.cells()} cells")


@dataclasses.dataclass(frozen=True)
class Scenario:
    shape: Shape
    to_server: tuple  # a Target for each round, to llama-server at its best
    to_plain: Target = Target(0.95)


GROUPS_QUICK = 24  # still more than there are slots
ROWS_PER_GROUP = 20

SCENARIOS = {
    "chats": Scenario(Shape(rows=32, groups=1, shared=500, own=69, answer=16, rounds=2),
                      (Target(1.9, aim=2.2), Target(1.35, aim=1.5))),
    "groups": Scenario(Shape(rows=200 * ROWS_PER_GROUP, groups=200, shared=128, own=12, answer=4,
                             shuffle=True),
                       (Target(3),)),
    "distinct": Scenario(Shape(rows=32, groups=32, shared=0, own=200, answer=32), (Target(1),)),
}

NUMBERS = ("rows", "groups", "shared", "own", "answer", "rounds", "at_once")


def quick(scenario):
    """The groups scenario with fewer groups; the others are quick enough."""
    shape = scenario.shape
    if shape.groups <= GROUPS_QUICK or not shape.shuffle:
        return scenario
    return dataclasses.replace(scenario, shape=dataclasses.replace(
        shape, groups=GROUPS_QUICK, rows=GROUPS_QUICK * ROWS_PER_GROUP))


def reshaped(scenarios, text):
    """The scenarios with one of them changed by "NAME:shared=64,own=16"."""
    name, _, settings = text.partition(":")
    if name not in scenarios:
        raise Problem(f"--shape {text}: there is no scenario '{name}'")
    changes = {}
    for setting in settings.split(","):
        key, _, number = setting.partition("=")
        least = 0 if key == "shared" else 1
        if key not in NUMBERS or not number.isdecimal() or int(number) < least:
            raise Problem(f"--shape {text}: '{setting}' is not one of {', '.join(NUMBERS)} with a "
                          "whole number")
        changes[key] = int(number)
    # Groups keep their size when only their number is given.
    shape = scenarios[name].shape
    if "groups" in changes and "rows" not in changes:
        changes["rows"] = max(1, shape.rows // shape.groups) * changes["groups"]
    return {**scenarios, name: dataclasses.replace(
        scenarios[name], shape=dataclasses.replace(shape, **changes))}
