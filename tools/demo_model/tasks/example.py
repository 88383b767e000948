"""What a task makes: a prompt with its one right answer."""

import json
from dataclasses import dataclass
from typing import Any


@dataclass
class Example:
    """`messages` are a system and a user turn; `tools` are OpenAI tools, where some are offered.
    `thought` is what leads to the answer, a step at a time; empty where that is written at once."""

    task: str
    messages: list[dict[str, str]]
    answer: str
    thought: str = ""
    tools: list[dict[str, Any]] | None = None


def make(task: str, system: str, user: str, answer: str, thought: str = "",
         tools: list[dict[str, Any]] | None = None) -> Example:
    return Example(task, [{"role": "system", "content": system}, {"role": "user", "content": user}],
                   answer, thought, tools)


_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def compact(value: Any) -> str:
    """The one form in which answers write JSON: keys in the order given, no spaces."""
    return _ENCODER.encode(value)
