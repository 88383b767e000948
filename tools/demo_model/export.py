#!/usr/bin/python3
"""Writes what train.py or train_embedding.py learned as a GGUF file.

    ./export.py --from /tmp/demo --type f16 -o ../../models/windrow-demo.gguf
"""
from __future__ import annotations

import argparse
from pathlib import Path

import torch

import gguf_file
from model import HEAD, ROPE_BASE, Shape
from tokenizer import SPECIAL, Tokenizer

_NORMAL, _CONTROL = 1, 3


def keys_of(shape: Shape, tokenizer: Tokenizer, name: str, about: str) -> dict[str, object]:
    a = "qwen3"
    return {
        "general.architecture": a,
        "general.type": "model",
        "general.name": name,
        "general.description": about,
        "general.license": "apache-2.0",
        "general.author": "the authors of Windrow",
        f"{a}.block_count": shape.layers,
        f"{a}.context_length": shape.context,
        f"{a}.embedding_length": shape.width,
        f"{a}.feed_forward_length": shape.hidden,
        f"{a}.attention.head_count": shape.heads,
        f"{a}.attention.head_count_kv": shape.heads,
        f"{a}.attention.key_length": HEAD,
        f"{a}.attention.value_length": HEAD,
        f"{a}.attention.layer_norm_rms_epsilon": 1e-6,
        f"{a}.rope.freq_base": ROPE_BASE,
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "qwen2",
        "tokenizer.ggml.tokens": tokenizer.tokens,
        "tokenizer.ggml.token_type": [
            _CONTROL if token in SPECIAL else _NORMAL for token in tokenizer.tokens],
        "tokenizer.ggml.merges": [" ".join(pair) for pair in tokenizer.merges],
        "tokenizer.ggml.eos_token_id": tokenizer.turn_end,
        "tokenizer.ggml.padding_token_id": tokenizer.end_of_text,
        "tokenizer.ggml.add_bos_token": False,
    }


def tensors_of(shape: Shape, values: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    tensors = {"token_embd.weight": values["embedding"], "output_norm.weight": values["norm"]}
    for layer in range(shape.layers):
        def put(name: str, value: torch.Tensor, layer: int = layer) -> None:
            tensors[f"blk.{layer}.{name}.weight"] = value

        q, k, v = values[f"{layer}.qkv"].chunk(3)
        q_gain, k_gain = values[f"{layer}.gains"].chunk(2)
        gate, up = values[f"{layer}.both"].chunk(2)
        put("attn_norm", values[f"{layer}.norm1"])
        put("attn_q", q)
        put("attn_k", k)
        put("attn_v", v)
        put("attn_q_norm", q_gain)
        put("attn_k_norm", k_gain)
        put("attn_output", values[f"{layer}.out"])
        put("ffn_norm", values[f"{layer}.norm2"])
        put("ffn_gate", gate)
        put("ffn_up", up)
        put("ffn_down", values[f"{layer}.down"])
    return tensors


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--from", dest="source", type=Path, required=True)
    parser.add_argument("--type", choices=["f16", "q8_0"], required=True)
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args()
    saved = torch.load(options.source / "checkpoint.pt")
    shape = Shape(**saved["shape"])
    tokenizer = Tokenizer.load(options.source / "tokenizer.json")
    if saved.get("kind") == "embedding":
        keys = keys_of(shape, tokenizer, "Windrow Embed", "Embeds short facts; a demonstration.")
        keys["qwen3.pooling_type"] = 1  # the mean
    else:
        keys = keys_of(shape, tokenizer, "Windrow Demo", "Answers Windrow's own synthetic tasks.")
        keys["tokenizer.chat_template"] = Path(__file__).with_name(
            "chat_template.jinja").read_text()
    gguf_file.write(options.output, keys, tensors_of(shape, saved["values"]), options.type)
    print(f"{options.output}: {options.output.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
