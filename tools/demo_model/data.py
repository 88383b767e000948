"""Training batches, made in a process of their own while the step before is computed.

The batch of a step is a function of (seed, step, mix), so a continued run sees what an
uninterrupted one would have seen.
"""
from __future__ import annotations

import itertools
import multiprocessing
import random
from collections.abc import Iterator
from dataclasses import dataclass

import numpy
import torch

import tasks
from model import Pack
from tokenizer import Tokenizer

CONTEXT_MAX = 560  # tokens of one example; longer ones are left out
THOUGHTLESS = 0.1  # of the examples with thoughts: learned without them


def messages_of(example: tasks.Example) -> list[dict]:
    """What the chat template makes of an example with tools."""
    if not example.tools:
        return example.messages
    system, *rest = example.messages
    return [{**system, "content": tasks.render_system(system["content"], example.tools)}, *rest]


@dataclass(frozen=True)
class Encoded:
    """An example in tokens: the system turn, which others share, the user's, the answer."""

    prefix: tuple[int, ...]
    prompt: list[int]
    answer: list[int]

    def __len__(self) -> int:
        return len(self.prefix) + len(self.prompt) + len(self.answer)


def encode(tokenizer: Tokenizer, example: tasks.Example, think: bool = True) -> Encoded:
    """Without `think` the thoughts are empty and a part of the prompt, as the chat template writes
    it with enable_thinking = false."""
    system, *rest = messages_of(example)
    prompt, answer = tokenizer.turns(rest) + tokenizer.opening(), example.answer
    if example.thought and think:
        answer = f"<think>\n{example.thought}\n</think>\n\n{answer}"
    elif example.thought:
        prompt += tokenizer.encode("<think>\n\n</think>\n\n")
    return Encoded(tuple(tokenizer.turns([system])), prompt,
                   tokenizer.encode(answer) + [tokenizer.turn_end])


def pack_of(examples: list[Encoded]) -> Pack:
    """Examples in the order of their prefixes, each of which is there once."""
    tokens, starts, groups, positions = [], [0], [0], []
    for prefix, group in itertools.groupby(examples, key=lambda example: example.prefix):
        tokens += prefix
        starts.append(len(tokens))
        for example in group:
            tokens += example.prompt + example.answer
            positions += range(len(tokens) - len(example.answer) - 1, len(tokens) - 1)
            starts.append(len(tokens))
        groups.append(len(starts) - 1)
    all_tokens = torch.from_numpy(numpy.array(tokens, dtype=numpy.int64))
    at = torch.from_numpy(numpy.array(positions, dtype=numpy.int64))
    return Pack(all_tokens, torch.tensor(starts), torch.tensor(groups), at, all_tokens[at + 1],
                torch.full((len(at),), 1.0 / len(at)))


def _examples_of_step(tokenizer: Tokenizer, mix: dict[str, float], seed: int, step: int,
                      tokens_max: int) -> list[Encoded]:
    rng = random.Random(f"mix/{seed}/{step}")
    names, weights = list(mix), list(mix.values())
    result: list[Encoded] = []
    seen: set[tuple[int, ...]] = set()
    total = 0
    while True:
        task = rng.choices(names, weights)[0]
        example = encode(tokenizer, tasks.example(task, "train", rng.getrandbits(40)),
                         think=rng.random() >= THOUGHTLESS)
        if len(example) > CONTEXT_MAX:
            continue
        total += len(example) - (len(example.prefix) if example.prefix in seen else 0)
        if total > tokens_max:
            return sorted(result, key=lambda other: other.prefix)
        seen.add(example.prefix)
        result.append(example)


def _produce(queue: multiprocessing.Queue, merges: list, mix: dict[str, float], seed: int,
             first: int, last: int, tokens_max: int) -> None:
    tokenizer = Tokenizer(merges)
    for step in range(first, last):
        queue.put(_examples_of_step(tokenizer, mix, seed, step, tokens_max))


def batches(tokenizer: Tokenizer, mix: dict[str, float], seed: int, first: int, last: int,
            tokens_max: int) -> Iterator[Pack]:
    """The batches of steps first..last-1."""
    context = multiprocessing.get_context("spawn")
    queue = context.Queue(maxsize=8)
    process = context.Process(target=_produce, daemon=True, args=(
        queue, tokenizer.merges, mix, seed, first, last, tokens_max))
    process.start()
    for _ in range(first, last):
        yield pack_of(queue.get())
    process.join()


def held_out(tokenizer: Tokenizer, task: str, count: int) -> list[tuple[Pack, list[int]]]:
    """Packs of held-out examples, each with the number of wanted tokens per example."""
    packs = []
    for begin in range(0, count, 32):
        examples = sorted((encode(tokenizer, tasks.example(task, "test", number))
                           for number in range(begin, min(begin + 32, count))),
                          key=lambda example: example.prefix)
        packs.append((pack_of(examples), [len(example.answer) for example in examples]))
    return packs
