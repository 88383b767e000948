#!/usr/bin/python3
"""Trains the demo model on a CPU. Run it again with the same --out, and it goes on where it was.

    ./train.py --out /tmp/demo --steps 8000
    ./train.py --out /tmp/try --steps 900 --tasks sort,merge     what five minutes of two tasks give

Writes OUT/tokenizer.json, OUT/checkpoint.pt (every five minutes and at the end) and OUT/log.jsonl.
"""
from __future__ import annotations

import argparse
import ctypes
import itertools
import json
import sys
import time
from pathlib import Path

import torch

import tasks
import tokenizer as bpe
from data import batches, held_out
from model import Model, Shape
from optimizer import Optimizer

CHECKPOINT_S = 300
# How often each task is drawn: by how much of its loss is left when all are drawn equally often.
MIX = {"screening": 3.0, "extraction": 1.5, "consolidation": 5.0, "sort": 0.4, "merge": 1.6,
       "sum": 1.5, "sort32": 0.2, "tool_calling": 1.0}


def reuse_memory() -> None:
    """Freed arrays stay in the process: the next step wants the same, and fresh pages cost a
    quarter of a step (405 ms against 302)."""
    libc = ctypes.CDLL("libc.so.6")
    trim_threshold, top_pad, mmap_max = -1, -2, -4
    libc.mallopt(mmap_max, 0)
    libc.mallopt(trim_threshold, (1 << 31) - 1)
    libc.mallopt(top_pad, 1 << 28)


def open_tokenizer(path: Path, size: int) -> bpe.Tokenizer:
    if not path.exists():
        texts = []
        for task, number in itertools.product(tasks.TASKS, range(3000)):
            example = tasks.example(task, "train", number)
            texts += [m["content"] for m in example.messages] + [example.answer]
            if example.tools:
                texts.append(tasks.render_system("", example.tools))
        texts += ["system\n", "user\n", "assistant\n", "tool\n"] * 100
        bpe.train(texts, size).save(path)
    return bpe.Tokenizer.load(path)


def accuracy(model: Model, tokenizer: bpe.Tokenizer, task: str, count: int) -> float:
    """Share of held-out examples whose every answer token is the likeliest one, which is what
    greedy generation needs to write the answer."""
    right = 0
    for pack, lengths in held_out(tokenizer, task, count):
        _, hits = model.predict(pack, learn=False)
        right += sum(int(part.all()) for part in hits.split(lengths))
    return right / count


def rate(step: int, steps: int) -> float:
    """Rises over 100 steps, stays, falls to nothing over the last 45 in 100."""
    return min(step / 100, 1.0, (steps - step) / (0.45 * steps))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--tasks", default=",".join(MIX), help="names, or NAME=WEIGHT")
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--hidden", type=int, default=704)
    parser.add_argument("--vocabulary", type=int, default=2048)
    parser.add_argument("--batch-tokens", type=int, default=6144)
    parser.add_argument("--matrix-rate", type=float, default=0.02)
    parser.add_argument("--other-rate", type=float, default=0.003)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--tokenizer", type=Path, help="use this one instead of training one")
    parser.add_argument("--start", type=Path, help="begin with the values of this checkpoint")
    options = parser.parse_args()

    reuse_memory()
    torch.set_num_threads(options.threads)
    options.out.mkdir(parents=True, exist_ok=True)
    mix = {}
    for part in options.tasks.split(","):
        name, _, weight = part.partition("=")
        mix[name] = float(weight or MIX[name])
    tokenizer = open_tokenizer(options.tokenizer or options.out / "tokenizer.json",
                               options.vocabulary)
    shape = Shape(options.layers, options.width, options.hidden, len(tokenizer.tokens), 1024)
    model = Model(shape, options.seed)
    optimizer = Optimizer(model)
    checkpoint = options.out / "checkpoint.pt"
    done = 0
    if checkpoint.exists():
        saved = torch.load(checkpoint)
        done = saved["step"]
        model.values.update(saved["values"])
        optimizer.state.update(saved["optimizer"])
        model.refresh()
    elif options.start:
        model.values.update(torch.load(options.start)["values"])
        model.refresh()
    print(f"{model.count() / 1e6:.2f} million parameters, {len(tokenizer.tokens)} tokens, "
          f"steps {done} to {options.steps}", flush=True)

    def save(step: int) -> None:
        new = checkpoint.with_suffix(".new")
        torch.save({"step": step, "shape": shape.to_dict(), "values": model.values,
                    "optimizer": optimizer.state}, new)
        new.rename(checkpoint)

    def report(step: int, count: int) -> None:
        found = {task: round(100 * accuracy(model, tokenizer, task, count), 1)
                 for task in [*mix, *tasks.PROBES]}
        line = {"step": step, "seconds": round(time.monotonic() - begin), "tokens": tokens,
                "loss": round(sum(losses) / max(1, len(losses)), 4), "accuracy": found}
        losses.clear()
        print(json.dumps(line), flush=True)
        with (options.out / "log.jsonl").open("a") as log:
            log.write(json.dumps(line) + "\n")

    begin = saved_at = time.monotonic()
    losses: list[float] = []
    tokens = 0
    stream = batches(tokenizer, mix, options.seed, done, options.steps, options.batch_tokens)
    for step, pack in enumerate(stream, done + 1):
        share = rate(step, options.steps)
        loss, _ = model.predict(pack, learn=True)
        optimizer.step(step, options.matrix_rate * share, options.other_rate * share)
        losses.append(loss.mean().item())
        tokens += len(pack.tokens)
        if step % 250 == 0 and step < options.steps:
            report(step, 64)
        if time.monotonic() - saved_at > CHECKPOINT_S:
            save(step)
            saved_at = time.monotonic()
    save(options.steps)
    report(options.steps, 256)


if __name__ == "__main__":
    sys.exit(main())
