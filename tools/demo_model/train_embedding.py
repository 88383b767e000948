#!/usr/bin/python3
"""Trains the embedding model: sentences of one person and attribute near, all others far.

    ./train_embedding.py --out /tmp/embedding --tokenizer /tmp/demo/tokenizer.json --steps 1200

The embedding of a text is the mean of its tokens' last states, scaled to length 1. The loss is
InfoNCE (van den Oord et al., 2018) over the pairs of a batch, in both directions; a batch has
several attributes of each person, so that the person alone does not tell a pair.
"""
from __future__ import annotations

import argparse
import random
import sys
import time
from pathlib import Path

import torch

from kernels import SMALL
from model import Model, Pack, Shape
from optimizer import Optimizer
from tasks import facts
from tasks.words import words_of
from tokenizer import Tokenizer
from train import rate, reuse_memory

TEMPERATURE = 0.05
PEOPLE, ATTRIBUTES = 64, 4
CHECKPOINT_S = 300


def pack_of(tokenizer: Tokenizer, texts: list[str]) -> Pack:
    ids = [tokenizer.encode(text) for text in texts]
    starts = [0]
    for one in ids:
        starts.append(starts[-1] + len(one))
    nothing = torch.zeros(0, dtype=torch.int64)
    return Pack(torch.tensor([i for one in ids for i in one]), torch.tensor(starts),
                torch.arange(len(starts)), nothing, nothing, torch.zeros(0))


def pooled(hidden: torch.Tensor, pack: Pack) -> torch.Tensor:
    lengths = pack.starts[1:] - pack.starts[:-1]
    owner = torch.repeat_interleave(torch.arange(len(lengths)), lengths)
    sums = torch.zeros(len(lengths), hidden.shape[1]).index_add(0, owner, hidden)
    return torch.nn.functional.normalize(sums / lengths[:, None], dim=1)


def recall(model: Model, tokenizer: Tokenizer, best: int) -> float:
    data = facts.held_out()
    vectors = []
    texts = data.facts + [query.text for query in data.queries]
    for begin in range(0, len(texts), 250):
        pack = pack_of(tokenizer, texts[begin : begin + 250])
        vectors.append(pooled(model.forward(pack).float(), pack))
        model.kept.clear()
    own, asked = torch.cat(vectors).split([len(data.facts), len(data.queries)])
    nearest = (asked @ own.t()).topk(best, dim=1).indices.tolist()
    return sum(query.fact in near for query, near in zip(data.queries, nearest)) / len(nearest)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--layers", type=int, default=3)
    parser.add_argument("--width", type=int, default=192)
    parser.add_argument("--hidden", type=int, default=512)
    parser.add_argument("--matrix-rate", type=float, default=0.01)
    parser.add_argument("--other-rate", type=float, default=0.002)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()

    reuse_memory()
    torch.set_num_threads(options.threads)
    options.out.mkdir(parents=True, exist_ok=True)
    tokenizer = Tokenizer.load(options.tokenizer)
    tokenizer.save(options.out / "tokenizer.json")
    shape = Shape(options.layers, options.width, options.hidden, len(tokenizer.tokens), 512)
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
    print(f"{model.count() / 1e6:.2f} million parameters, steps {done} to {options.steps}",
          flush=True)

    def save(step: int) -> None:
        new = checkpoint.with_suffix(".new")
        torch.save({"step": step, "kind": "embedding", "shape": shape.to_dict(),
                    "values": model.values, "optimizer": optimizer.state}, new)
        new.rename(checkpoint)

    words = words_of("train")
    begin = saved_at = time.monotonic()
    for step in range(done + 1, options.steps + 1):
        rng = random.Random(f"embedding/{options.seed}/{step}")
        batch = facts.pairs(rng, words, PEOPLE, ATTRIBUTES)
        pack = pack_of(tokenizer, [a for a, _ in batch] + [b for _, b in batch])
        hidden = model.forward(pack).float().requires_grad_()
        first, second = pooled(hidden, pack).split(len(batch))
        scores = first @ second.t() / TEMPERATURE
        own = torch.arange(len(batch))
        loss = (torch.nn.functional.cross_entropy(scores, own)
                + torch.nn.functional.cross_entropy(scores.t(), own)) / 2
        loss.backward()
        model.backward(pack, hidden.grad.to(SMALL))
        share = rate(step, options.steps)
        optimizer.step(step, options.matrix_rate * share, options.other_rate * share)
        if step % 100 == 0 or step == options.steps:
            print(f"step {step}, {time.monotonic() - begin:.0f} s, loss {loss.item():.3f}, "
                  f"recall@1 {recall(model, tokenizer, 1):.3f}, "
                  f"@5 {recall(model, tokenizer, 5):.3f}", flush=True)
        if time.monotonic() - saved_at > CHECKPOINT_S or step == options.steps:
            save(step)
            saved_at = time.monotonic()


if __name__ == "__main__":
    sys.exit(main())
