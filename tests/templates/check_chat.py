#!/usr/bin/env python3
"""Compares the prompts that chat/ renders with jinja2's: nothing vanishes, and nothing is refused
that jinja2 renders.

usage: check_chat.py --ours PROGRAM [--fuzz COUNT] [--only NAME] [--show]

Requests are written as OpenAI has them: the arguments of calls as text, no content beside them.
Ours must give the bytes that jinja2 gives for the same messages in one of up to 32 forms (arguments
as text or object, content "" or null, ids as they are or short, calls together or one by one, names
in fields or in texts), with every text of the request in them. A part that ours refuses, because
the template has no place for it, must be missing, or fail, in all of them. If a template knows
nothing of tools, a message describes them; then only the texts are looked for.
"""

import argparse
import copy
import glob
import itertools
import json
import os
import random
import sys

import engines
import oracle
from conversations import TOOLS, assistant, system, user
from engines import SOAK

HERE = os.path.dirname(os.path.abspath(__file__))
SETTINGS = {"add_generation_prompt": True, "documents": None, "bos_token": "<s>",
            "eos_token": "</s>"}


def call(name="get_weather", value="Bern", call_id="abc123DEF"):
    return {"id": call_id, "type": "function",
            "function": {"name": name, "arguments": json.dumps({"city": value})}}


def result(content="sunny", call_id="abc123DEF", **more):
    return {"role": "tool", "content": content, "tool_call_id": call_id, **more}


# Each text is a word that no other text and no template has.
REQUESTS = {
    "user": ([user("Whither")], None),
    "system": ([system("Tersely"), user("Whither")], None),
    "late-system": ([user("Whither"), system("Tersely")], None),
    "two-systems": ([system("Tersely"), system("Gently"), user("Whither")], None),
    "turns": ([user("Whither"), assistant("Yonder"), user("Wherefore")], None),
    "named": ([{**user("Whither"), "name": "Annabel"}], None),
    "named-call": ([{**user("Whither"), "name": "Annabel"},
                    {**assistant(None, tool_calls=[call()]), "name": "Planner"}, result(),
                    {**assistant("Yonder"), "name": "Planner"},
                    {**user("Wherefore"), "name": "Belinda"}], TOOLS),
    "tools": ([user("Whither")], TOOLS),
    "call": ([user("Whither"), assistant(None, tool_calls=[call()]), result()], TOOLS),
    "empty-call": ([user("Whither"), assistant("", tool_calls=[call()]), result()], TOOLS),
    "call-without-tools": ([user("Whither"), assistant(None, tool_calls=[call()]), result()],
                           None),
    "call-answered": ([user("Whither"), assistant(None, tool_calls=[call()]), result(),
                       assistant("Yonder"), user("Wherefore")], TOOLS),
    "call-beside-content": ([user("Whither"), assistant("Presently", tool_calls=[call()]),
                             result()], TOOLS),
    "calls": ([user("Whither"),
               assistant(None, tool_calls=[call(), call("fetch", "Basel", "XYZ456abc")]),
               result(), result("cloudy", "XYZ456abc", name="fetch")], TOOLS),
    "long-ids": ([user("Whither"),
                  assistant(None, tool_calls=[call(call_id="call_0a1b2c3d4e5f6g7h8i9j0k1l")]),
                  result(call_id="call_0a1b2c3d4e5f6g7h8i9j0k1l")], TOOLS),
    "stray-result": ([user("Whither"), result()], None),
}


def random_request(seed):
    """Turns in any order, each with a word of its own."""
    rng = random.Random(seed)
    words = (f"word{n}x" for n in itertools.count())
    messages = []
    for _ in range(rng.randrange(1, 7)):
        kind = rng.randrange(7)
        if kind < 2:
            messages.append(user(next(words)))
        elif kind == 2:
            messages.append(system(next(words)))
        elif kind < 5:
            messages.append(assistant(next(words)))
        else:
            calls = [call(rng.choice(["get_weather", "fetch"]), next(words), f"call{n:05}")
                     for n in range(rng.randrange(1, 3))]
            messages.append(assistant(rng.choice([None, "", next(words)]), tool_calls=calls))
            messages += [result(next(words), each["id"]) for each in calls]
    return messages, rng.choice([None, TOOLS])


def texts_of(messages):
    """Field and text of all that must not vanish."""
    for index, message in enumerate(messages):
        for each in message.get("tool_calls", ()):
            function = each["function"]
            yield f"messages[{index}].tool_calls", function["name"]
            yield f"messages[{index}].tool_calls", json.loads(function["arguments"])["city"]
        if message.get("content"):
            yield f"messages[{index}].content", message["content"]
        if "name" in message and message["role"] not in ("assistant", "tool"):
            yield f"messages[{index}].name", message["name"]


def parted(messages):
    """Each call in a message of its own, with its result behind it."""
    out = []
    rest = list(messages)
    while rest:
        message = rest.pop(0)
        if len(message.get("tool_calls", ())) < 2:
            out.append(message)
            continue
        results = []
        while rest and rest[0]["role"] == "tool":
            results.append(rest.pop(0))
        for index, each in enumerate(message["tool_calls"]):
            out.append({**message, "tool_calls": [each],
                        **({"content": ""} if index else {})})
            for at, one in enumerate(results):
                if one["tool_call_id"] == each["id"]:
                    out.append(results.pop(at))
                    break
        out += results
    return out


def shorten(messages):
    """Ids of nine letters and digits, by the order in which they come."""
    ids = {}
    for message in messages:
        for each in message.get("tool_calls", ()):
            each["id"] = ids.setdefault(each["id"], f"call{len(ids):05}")
        if "tool_call_id" in message:
            message["tool_call_id"] = ids.setdefault(message["tool_call_id"],
                                                     f"call{len(ids):05}")


def mentions(source, name):
    return any((kind == "name" and value == name) or
               (kind == "string" and value[1:-1] == name)
               for _, kind, value in oracle.ENV.lex(source))


def is_told(source, messages, tools):
    if mentions(source, "tools"):
        return False
    return bool(tools) or (not mentions(source, "tool_calls") and
                           any("tool_calls" in message for message in messages))


def in_form(messages, as_text, null, short=False, one_each=False, named=False):
    messages = copy.deepcopy(parted(messages) if one_each else messages)
    for message in messages:
        if named and "name" in message and message["role"] not in ("assistant", "tool"):
            message["content"] = f"{message.pop('name')}: {message['content']}"
    if short:
        shorten(messages)
    for message in messages:
        if "tool_calls" not in message:
            continue
        if not message["content"]:
            message["content"] = None if null else ""
        if not as_text:
            for each in message["tool_calls"]:
                each["function"]["arguments"] = json.loads(each["function"]["arguments"])
    return messages


def forms_of(messages):
    """Every form of the messages, each once; those that a form changes nothing of have one less."""
    has_names = any("name" in message and message["role"] not in ("assistant", "tool")
                    for message in messages)
    calls = [message for message in messages if "tool_calls" in message]
    has_ids = any("tool_call_id" in message for message in messages)

    def either(has):
        return (False, True) if has else (False,)

    for named in either(has_names):
        for one_each in either(any(len(message["tool_calls"]) > 1 for message in calls)):
            for short in either(calls or has_ids):
                for null in either(any(not message["content"] for message in calls) or
                                   one_each):
                    for as_text in either(calls):
                        yield in_form(messages, as_text, null, short, one_each, named)


def lacks(text, field, messages, tools):
    """Whether something of the field is not in the text."""
    if field == "tools":
        return any(tool["function"]["name"] not in text for tool in tools)
    return any(word not in text for place, word in texts_of(messages) if place == field)


def fault_of(source, messages, tools, answer):
    if is_told(source, messages, tools):
        missing = "text" in answer and [word for _, word in texts_of(messages)
                                        if word not in answer["text"]]
        return f"left out: {missing}" if missing else None
    forms = list(forms_of(messages))
    wanted = [oracle.render(source, {**SETTINGS, "messages": form, "tools": tools})
              for form in forms]
    written = [each["text"] for each in wanted if each and "text" in each]
    if "text" in answer:
        if answer["text"] not in written:
            return "not what jinja2 renders in any form"
        missing = [word for _, word in texts_of(messages) if word not in answer["text"]]
        if missing or (tools and lacks(answer["text"], "tools", messages, tools)):
            return f"left out: {missing or 'tools'}"
        if "None" in answer["text"].replace("None'", "") and "None" not in source:
            return "None stands in the text"
    elif "no_place_for" in answer:
        field = answer["no_place_for"]
        whole = [text for text in written
                 if not any(word not in text for _, word in texts_of(messages))
                 and not (tools and lacks(text, "tools", messages, tools))
                 and text.count("None") == min(t.count("None") for t in written)]
        if whole:
            return f"refused for {field}, and jinja2 writes it"
        if written and not any(lacks(text, field, messages, tools) for text in written):
            return f"refused for {field}, which is there"
    elif len(written) == len(forms):
        return f"failed: {answer['failed']}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--ours", required=True)
    parser.add_argument("--fuzz", type=int, default=40 if SOAK else 12,
                        help="random requests a template")
    parser.add_argument("--only", help="a template's name")
    parser.add_argument("--show", action="store_true", help="what is refused, by template")
    arguments = parser.parse_args()
    faults = texts = refused = 0
    for path in sorted(glob.glob(os.path.join(HERE, "corpus", "*.jinja"))):
        name = os.path.basename(path)[:-len(".jinja")]
        if arguments.only not in (None, name):
            continue
        with open(path, encoding="utf-8", newline="") as file:
            source = file.read()
        cases = dict(REQUESTS)
        cases.update((f"fuzz-{n}", random_request(f"{name} {n}")) for n in range(arguments.fuzz))
        answers = engines.ours(arguments.ours,
                               [{"template": source, "messages": messages,
                                 **({"tools": tools} if tools else {})}
                                for messages, tools in cases.values()])
        for (case, (messages, tools)), answer in zip(cases.items(), answers):
            texts += "text" in answer
            refused += "no_place_for" in answer
            fault = fault_of(source, messages, tools, answer)
            if fault:
                faults += 1
                print(f"{name} {case}: {fault}")
            if arguments.show and case in REQUESTS and "text" not in answer:
                print(f"  {name} {case}: {answer}")
    print(f"{texts} texts compared, {refused} refused for want of a place, {faults} faults")
    return 1 if faults or not texts or not refused else 0


if __name__ == "__main__":
    sys.exit(main())
