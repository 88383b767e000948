#!/usr/bin/env python3
"""Holds the increments of chat/ to whole conversations that jinja2 renders.

usage: check_increments.py --ours PROGRAM [--fuzz COUNT] [--only NAME] [--show]

A conversation ends with an answer, and messages are appended. Ours says what text they add, from a
history of its own making; behind the answer the whole conversation, rendered by jinja2, must have
that text, whatever the history is. What ours refuses to render in parts must be a conversation
whose beginning jinja2 writes differently once the messages are appended, in every form of them, or
by how many messages are before them, or one of which jinja2 leaves something out.
"""

import argparse
import glob
import json
import os
import random
import re
import sys

import engines
import oracle
from check_chat import HERE, SETTINGS, call, forms_of, is_told, result, texts_of
from conversations import TOOLS, assistant, system, user

QUESTION = "qzquestion"
ANSWER = "qzanswer"
END = re.compile(r"<[|｜/]?[A-Za-z_|｜▁ ]+[|｜]?>|\[/?[A-Z]+\]")

HISTORIES = {
    "none": [],
    "system": [system("Tersely")],
    "turns": [system("Tersely"), user("Whither"), assistant("Yonder")],
    "long": [user("Whither"), assistant("Yonder"), user("Wherefore"), assistant("Hither")],
}
APPENDED = {
    "user": [user("Thence")],
    "turns": [user("Thence"), assistant("Henceforth"), user("Anon")],
    "system": [system("Gently"), user("Thence")],
    "result": [result("sunny")],
    "results": [result("sunny"), user("Thence")],
}


def renders(source, messages, tools, asks, known={}):
    """Every text that jinja2 makes of the messages in some form. The cases of a template differ in
    the end of an answer, which jinja2 is not told, so most are asked for again."""
    key = json.dumps([messages, tools, asks])
    if known.get("source") != source:
        known.clear()
        known["source"] = source
    if key not in known:
        known[key] = rendered(source, messages, tools, asks)
    return known[key]


def rendered(source, messages, tools, asks):
    texts = []
    tried = set()
    for form in forms_of(messages):
        key = json.dumps(form)
        if key in tried:
            continue
        tried.add(key)
        made = oracle.render(source, {**SETTINGS, "messages": form, "tools": tools,
                                      "add_generation_prompt": asks})
        text = made.get("text") if made else None
        if text is not None and text not in texts:
            texts.append(text)
    words = [word for _, word in texts_of(messages)]
    return [text for text in texts if all(word in text for word in words)
            and (not tools or all(tool["function"]["name"] in text for tool in tools))]


def behind_answer(text):
    return text.rsplit(ANSWER, 1)[1]


def may_refuse(source, history, answered, appended, tools, end):
    """Whether no form can be rendered in parts, behind no history or behind this one."""
    if answered.get("tool_calls") and not end:
        closed = [behind_answer(text) for text in
                  renders(source, [user(QUESTION), assistant(ANSWER)], None, False)]
        ends = [behind_answer(text) for text in
                renders(source, [user(QUESTION), answered], tools, False)]
        tails = [behind_answer(text) for text in
                 renders(source, [user(QUESTION), answered, *appended], tools, True)]
        if not any(tail.startswith(one) and one.endswith(other)
                   for tail in tails for one in ends for other in closed):
            return True
    systems = [message for message in history if message["role"] == "system"]
    tails = []
    for before in (systems, [*systems, user("Formerly"), assistant("Lately")]):
        if changes_beginning(source, before, answered, appended, tools):
            return True
        tails.append({behind_answer(text) for text in renders(
            source, [*before, user(QUESTION), answered, *appended], tools, True)})
    return not tails[0] & tails[1]


def changes_beginning(source, history, answered, appended, tools):
    before = renders(source, [*history, user(QUESTION), answered], tools, False)
    after = renders(source, [*history, user(QUESTION), answered, *appended], tools, True)
    heads = {text.split(QUESTION)[0] for text in before
             if text.count(QUESTION) == 1 and text.count(ANSWER) == 1}
    return not any(text.split(QUESTION)[0] in heads for text in after
                   if text.count(QUESTION) == 1 and text.count(ANSWER) == 1
                   and text.index(QUESTION) < text.index(ANSWER))


def fault_of(source, case, answer):
    history, answered, appended, tools, end = case
    if "no_place_for" in answer or "failed" in answer:
        if may_refuse(source, history, answered, appended, tools, end):
            return None
        return f"refused: {answer}"
    wholes = renders(source, [*history, user(QUESTION), answered, *appended], tools, True)
    wholes = [text for text in wholes if text.count(ANSWER) == 1]
    if not wholes:
        return None  # it takes no such history
    added = answer["added"]
    for whole in wholes:
        tail = behind_answer(whole)
        if end and not answer["drops_end_token"]:
            if end in tail and tail.split(end, 1)[1] == added:
                return None
        elif not answered.get("tool_calls") or end:
            if tail == added:
                return None
        elif tail.endswith(added) and len(added) < len(tail):
            return None
    return f"added {added!r}, and behind the answer is {behind_answer(wholes[0])!r}"


def cases_of(source, name, count):
    alone = [behind_answer(text)
             for text in renders(source, [user(QUESTION), assistant(ANSWER)], None, False)
             if text.count(ANSWER) == 1]
    found = END.search(alone[0]) if alone else None
    ends = ["", "<|of_another_model|>"] + ([found.group()] if found else [])
    rng = random.Random(name)
    for history in HISTORIES:
        for added in APPENDED:
            for end in ends:
                calls = "result" in added
                answered = assistant("", tool_calls=[call(value=ANSWER)]) if calls else \
                    assistant(ANSWER)
                yield (f"{history} {added} {end}",
                       (HISTORIES[history], answered, APPENDED[added], TOOLS if calls else None,
                        end))
    for n in range(count):
        words = (f"word{i}x" for i in range(100))
        history = [m for _ in range(rng.randrange(4))
                   for m in (user(next(words)), assistant(next(words)))]
        appended = [user(next(words))]
        for _ in range(rng.randrange(3)):
            appended += [assistant(next(words)), user(next(words))]
        yield (f"fuzz-{n}", (history, assistant(ANSWER), appended,
                             rng.choice([None, None, TOOLS]), rng.choice(ends)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--ours", required=True)
    parser.add_argument("--fuzz", type=int, default=6, help="random conversations a template")
    parser.add_argument("--only", help="a template's name")
    parser.add_argument("--show", action="store_true", help="what is refused, by template")
    arguments = parser.parse_args()
    faults = texts = refused = 0
    in_parts = set()
    for path in sorted(glob.glob(os.path.join(HERE, "corpus", "*.jinja"))):
        name = os.path.basename(path)[:-len(".jinja")]
        if arguments.only not in (None, name):
            continue
        with open(path, encoding="utf-8", newline="") as file:
            source = file.read()
        cases = [(case, content) for case, content in cases_of(source, name, arguments.fuzz)
                 if not is_told(source, [content[1]], content[3])]
        answers = engines.ours(arguments.ours, [
            {"template": source, "messages": appended,
             "turn": {"message": answered, "end": end,
                      "has_system": any(m["role"] == "system" for m in history)},
             **({"tools": tools} if tools else {})}
            for _, (history, answered, appended, tools, end) in cases])
        for (case, content), answer in zip(cases, answers):
            texts += "added" in answer
            refused += "added" not in answer
            if "added" in answer and case.startswith("none user"):
                in_parts.add(name)
            fault = fault_of(source, content, answer)
            if fault:
                faults += 1
                print(f"{name} {case}: {fault}")
            if arguments.show and "added" not in answer:
                print(f"  {name} {case}: {json.dumps(answer)}")
    print(f"{texts} increments of {len(in_parts)} templates compared, {refused} refused, "
          f"{faults} faults")
    return 1 if faults or not texts or not refused else 0


if __name__ == "__main__":
    sys.exit(main())
