#!/usr/bin/python3
"""Makes a checkpoint of a GGUF file that export.py wrote, so that train.py can go on from it.

    ./import_gguf.py --from ../../models/windrow-demo.gguf --out /tmp/start
    ./train.py --out /tmp/demo --steps 2000 --matrix-rate 0.01 --other-rate 0.0015 \\
        --start /tmp/start/checkpoint.pt --tokenizer /tmp/start/tokenizer.json

What was rounded to F16 stays rounded, and the optimizer begins anew.
"""
from __future__ import annotations

import argparse
from pathlib import Path

import torch

import gguf_file
from model import Shape
from tokenizer import Tokenizer


def shape_of(keys: dict[str, object]) -> Shape:
    a = "qwen3"
    return Shape(keys[f"{a}.block_count"], keys[f"{a}.embedding_length"],
                 keys[f"{a}.feed_forward_length"], len(keys["tokenizer.ggml.tokens"]),
                 keys[f"{a}.context_length"])


def tokenizer_of(keys: dict[str, object]) -> Tokenizer:
    return Tokenizer([tuple(pair.split(" ")) for pair in keys["tokenizer.ggml.merges"]])


def values_of(shape: Shape, tensors: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The reverse of export.tensors_of."""
    values = {"embedding": tensors["token_embd.weight"], "norm": tensors["output_norm.weight"]}
    for layer in range(shape.layers):
        def join(*names: str, layer: int = layer) -> torch.Tensor:
            return torch.cat([tensors[f"blk.{layer}.{name}.weight"] for name in names])

        values |= {
            f"{layer}.norm1": join("attn_norm"),
            f"{layer}.gains": join("attn_q_norm", "attn_k_norm"),
            f"{layer}.norm2": join("ffn_norm"),
            f"{layer}.qkv": join("attn_q", "attn_k", "attn_v"),
            f"{layer}.out": join("attn_output"),
            f"{layer}.both": join("ffn_gate", "ffn_up"),
            f"{layer}.down": join("ffn_down"),
        }
    return values


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--from", dest="source", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    keys, tensors = gguf_file.read(options.source)
    shape = shape_of(keys)
    options.out.mkdir(parents=True, exist_ok=True)
    kind = "embedding" if "qwen3.pooling_type" in keys else "chat"
    torch.save({"step": 0, "kind": kind, "shape": shape.to_dict(),
                "values": values_of(shape, tensors)}, options.out / "checkpoint.pt")
    tokenizer_of(keys).save(options.out / "tokenizer.json")


if __name__ == "__main__":
    main()
