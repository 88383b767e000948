#!/usr/bin/env python3
"""Holds the origin of every piece of text to the conversation, over corpus/ and the grammar.

usage: check_provenance.py --ours PROGRAM [--grammar COUNT]

Where all text of a conversation is made of private-use characters, each of them must lie in a
segment that comes from the input, and no character of the template may; where it is any text, the
segments together must be what jinja2 renders. Exits 1 otherwise.
"""

import argparse
import glob
import os
import random
import sys

import check_grammar
import conversations
import engines
import oracle

HERE = os.path.dirname(os.path.abspath(__file__))

# Names of roles and tokens are the caller's text, not the user's.
TRUSTED = ["bos_token", "eos_token", "pad_token", "unk_token", "messages.*.role",
           "messages.*.content.*.type", "messages.*.tool_calls.*.type",
           "messages.*.tool_calls.*.id", "messages.*.tool_call_id"]
NAMES = {"role", "type", "id", "tool_call_id"}
# Characters that tojson, str() and escape write for lists, dicts, numbers and characters of an
# input.
STRUCTURE = set("{}[]():,.' \"\n\t\\-+0123456789&#;" + "truefalsnTFNodEUABCD")


def private(text):
    """The text as private-use characters; its spaces and line ends stay."""
    return "".join(c if c in " \n\t" else chr(0xE000 + ord(c) % 0x1800) for c in text)


def is_private(char):
    return "\ue000" <= char <= "\uf8ff"


def disguise(value, but=(), key=None):
    if isinstance(value, str):
        return value if key in but else private(value)
    if isinstance(value, list):
        return [disguise(item, but) for item in value]
    if isinstance(value, dict):
        return {name: disguise(item, but, name) for name, item in value.items()}
    return value


def keys_of(value):
    if isinstance(value, dict):
        for key, item in value.items():
            yield from key
            yield from keys_of(item)
    elif isinstance(value, list):
        for item in value:
            yield from keys_of(item)


def disguised(variables):
    changed = dict(variables)
    changed["messages"] = disguise(variables["messages"], NAMES)
    for name in ("tools", "documents"):
        if name in changed:
            changed[name] = disguise(changed[name])
    return changed


def is_plain(variables):
    """Whether there is nothing in it that could be printed but texts."""
    only_texts = all(isinstance(m.get("content", ""), str) and "tool_calls" not in m
                     for m in variables["messages"])
    return only_texts and not variables.get("tools") and not variables.get("documents")


def fault_of(variables, segments):
    """What is wrong with these segments of a disguised conversation, or None."""
    if is_plain(variables):
        allowed = set(" \n\t")
    else:
        allowed = STRUCTURE | set(keys_of(variables))
    settings = "".join(str(v) for k, v in variables.items()
                       if k not in ("messages", "tools", "documents") and k not in TRUSTED)
    before = None
    for text, from_input in segments:
        if not text or before == from_input:
            return f"segments that should be one, at {text[:40]!r}"
        before = from_input
        if not from_input and any(map(is_private, text)):
            return f"text of the input as the template's: {text[:80]!r}"
        if from_input:
            strange = {c for c in text if not is_private(c) and c not in allowed
                       and c not in settings}
            if strange:
                return f"text of the template as input: {sorted(strange)} in {text[:80]!r}"
    return None


def check_corpus(program):
    faults = segments_seen = 0
    for path in sorted(glob.glob(os.path.join(HERE, "corpus", "*.jinja"))):
        with open(path, encoding="utf-8", newline="") as file:
            source = file.read()
        name = os.path.basename(path)
        cases = [(case, disguised(variables)) for case, variables in conversations.matrix()]
        cases += conversations.fuzzed(name, 20 if engines.SOAK else 6)
        answers = engines.ours(program, [{"template": source, "variables": variables,
                                          "segments": True, "trusted": TRUSTED}
                                         for _, variables in cases])
        for (case, variables), answer in zip(cases, answers):
            if "segments" not in answer:
                continue
            segments_seen += len(answer["segments"])
            whole = "".join(text for text, _ in answer["segments"])
            wanted = oracle.render(source, variables)
            fault = None if case.startswith("fuzz") else fault_of(variables, answer["segments"])
            if wanted != {"text": whole}:
                fault = "the segments together are not what jinja2 renders"
            if fault:
                faults += 1
                if faults < 8:
                    print(f"{name} {case}: {fault}")
    return faults, segments_seen


def check_grammar_templates(program, count):
    """Random operations: no private-use character may ever pass for the template's."""
    variables = {name: disguise(value) for name, value in check_grammar.VARIABLES.items()}
    sources = [check_grammar.Grammar(random.Random(f"origin {i}")).template() for i in range(count)]
    answers = engines.ours(program, [{"template": s, "variables": variables, "segments": True}
                                     for s in sources])
    faults = segments_seen = 0
    for source, answer in zip(sources, answers):
        for text, from_input in answer.get("segments", ()):
            segments_seen += 1
            if not from_input and any(map(is_private, text)):
                faults += 1
                if faults < 8:
                    print(f"{source!r}: text of the input as the template's: {text!r}")
    return faults, segments_seen


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--ours", required=True)
    parser.add_argument("--grammar", type=int, default=3000 if engines.SOAK else 1000)
    arguments = parser.parse_args()
    faults, segments = check_corpus(arguments.ours)
    more_faults, more_segments = check_grammar_templates(arguments.ours, arguments.grammar)
    print(f"{segments} + {more_segments} segments, {faults + more_faults} faults")
    return 1 if faults or more_faults or not segments or not more_segments else 0


if __name__ == "__main__":
    sys.exit(main())
