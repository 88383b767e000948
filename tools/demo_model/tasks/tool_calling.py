"""tool_calling: one of three tools fits the request; call it with what the request says.

The answer is the text by which models of the Qwen kind call a tool, arguments in the order of the
tool's parameters.
"""

import json
import random
from typing import Any, Sequence

from .example import Example, make
from .tools import TOOLS, VALUES, Tool
from .wording import chance, pick, upper_first
from .words import Words

SYSTEM = "Call the one tool that fits the request."
OFFERED = 3

_WRAPPED = ("{}.", "{}.", "{}", "Please {}.", "Can you {}?", "Could you {}?", "I want you to {}.",
            "Would you {}, please?", "Now {}.", "{}, please.", "Hi, {}.", "Could you please {}?",
            "Next, {}.", "I need you to {}.", "Be so kind and {}.", "Quick, {}!")


def render_system(system: str, tools: Sequence[dict[str, Any]]) -> str:
    """The system turn with a line for each tool, as the model's chat template writes it."""
    lines = []
    for tool in tools:
        function = tool["function"]
        arguments = ", ".join(function["parameters"]["properties"])
        lines.append(f"{function['name']}({arguments}): {function['description']}")
    return f"{system}\n\nTools:\n" + "\n".join(lines)


def call(name: str, arguments: dict[str, Any]) -> str:
    text = json.dumps({"name": name, "arguments": arguments}, ensure_ascii=False)
    return f"<tool_call>\n{text}\n</tool_call>"


def _arguments(rng: random.Random, words: Words, tool: Tool) -> dict[str, Any]:
    """No two alike: a journey does not end where it starts."""
    while True:
        values = {key: VALUES[kind](rng, words) for key, kind in tool.kinds.items()}
        if len(set(values.values())) == len(values):
            return values


def _request(rng: random.Random, wording: str, arguments: dict[str, Any]) -> str:
    text = wording.format(**arguments)
    if not wording[0].islower():
        return text
    return upper_first(pick(rng, _WRAPPED).format(text))


def _offered(rng: random.Random, right: Tool) -> list[Tool]:
    """Often tools of the same kind, which are easier to take for each other."""
    offered = [right]
    near = [tool for tool in TOOLS if tool.group == right.group]
    while len(offered) < OFFERED:
        tool = pick(rng, near if chance(rng, 0.5) else TOOLS)
        if tool not in offered:
            offered.append(tool)
    rng.shuffle(offered)
    return offered


def tool_calling(rng: random.Random, words: Words) -> Example:
    tool = pick(rng, TOOLS)
    arguments = _arguments(rng, words, tool)
    request = _request(rng, pick(rng, tool.wordings), arguments)
    return make("tool_calling", SYSTEM, request, call(tool.name, arguments),
                tools=[offered.offer for offered in _offered(rng, tool)])
