#!/usr/bin/env python3
"""Prints which sources of a test program may be compiled as one: no name in an anonymous namespace
of one is declared in that of another.

usage: unity_groups.py SIZE SOURCE...

A line for each group: its sources, separated by semicolons. A group has at most SIZE of them.
"""

import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tests/tidy"))
from check import anonymous_names

# Each of these declares a name of its own.
MACROS = re.compile(r"(TEST|TEST_F|TEST_P|TYPED_TEST\w*|INSTANTIATE_\w+)$")


def names_of(path):
    """Scope and name -> the meaning of an alias, which may be declared twice, or None."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    return {(scope, name): meaning for (scope, name, _), meaning, _ in anonymous_names(text)
            if not MACROS.match(name)}


def meet(some, others):
    return any(others[name] is None or others[name] != some[name] for name in some.keys() & others)


def groups_of(paths, size):
    groups = []  # of (paths, names of all)
    for path in paths:
        names = names_of(path)
        fitting = next((group for group in groups
                        if len(group[0]) < size and not meet(names, group[1])), None)
        if fitting:
            fitting[0].append(path)
            fitting[1].update(names)
        else:
            groups.append(([path], dict(names)))
    return [group for group, _ in groups]


if __name__ == "__main__":
    for each in groups_of(sys.argv[2:], int(sys.argv[1])):
        print(";".join(each))
