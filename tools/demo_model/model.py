"""A Qwen3-type transformer whose forward and backward passes are written out.

Matrix products are PyTorch's, in bf16 (AMX through oneDNN where the processor has it) or f32
(kernels.SMALL says which); what lies between them is kernels.c. Sequences are packed one behind
the other, so no padding is computed. model_test.py holds the gradients against PyTorch's own.
"""
from __future__ import annotations

from dataclasses import asdict, dataclass

import torch

from kernels import SMALL, call

HEAD = 32  # kHead of kernels.c
ROPE_BASE = 10000.0


@dataclass(frozen=True)
class Shape:
    layers: int
    width: int
    hidden: int
    vocabulary: int
    context: int
    causal: bool = True

    @property
    def heads(self) -> int:
        return self.width // HEAD

    def to_dict(self) -> dict:
        return asdict(self)


@dataclass
class Pack:
    """Sequences behind each other, and which of their tokens are to be predicted."""

    tokens: torch.Tensor  # [T] int64
    starts: torch.Tensor  # [sequences + 1] int64
    groups: torch.Tensor  # [groups + 1] int64: sequences; the first of a group begins the others
    positions: torch.Tensor  # [N] int64: the token at position + 1 is to be predicted
    wanted: torch.Tensor  # [N] int64: that token
    weights: torch.Tensor  # [N] f32


def turns_of(context: int) -> torch.Tensor:
    """Cosines, then sines, of each position: [context][HEAD]."""
    rates = ROPE_BASE ** (-torch.arange(0, HEAD // 2, dtype=torch.float64) / (HEAD // 2))
    angles = torch.arange(context, dtype=torch.float64)[:, None] * rates
    return torch.cat([angles.cos(), angles.sin()], dim=1).float().contiguous()


class Model:
    """Parameters by name, and the passes over them. The output matrix is the embedding."""

    def __init__(self, shape: Shape, seed: int) -> None:
        self.shape = shape
        self.turns = turns_of(shape.context)
        self.values: dict[str, torch.Tensor] = {}
        generator = torch.Generator().manual_seed(seed)

        def matrix(name: str, rows: int, columns: int, scale: float) -> None:
            self.values[name] = torch.randn(rows, columns, generator=generator) * scale

        width, hidden = shape.width, shape.hidden
        matrix("embedding", shape.vocabulary, width, width**-0.5)
        self.values["norm"] = torch.ones(width)
        for layer in range(shape.layers):
            self.values[f"{layer}.norm1"] = torch.ones(width)
            self.values[f"{layer}.gains"] = torch.ones(2 * HEAD)
            self.values[f"{layer}.norm2"] = torch.ones(width)
            matrix(f"{layer}.qkv", 3 * width, width, width**-0.5)
            matrix(f"{layer}.out", width, width, 0.1 * width**-0.5)
            matrix(f"{layer}.both", 2 * hidden, width, width**-0.5)
            matrix(f"{layer}.down", width, hidden, 0.1 * hidden**-0.5)
        self.gradients = {name: torch.zeros_like(value) for name, value in self.values.items()}
        self.half: dict[str, torch.Tensor] = {}
        self.refresh()

    def refresh(self) -> None:
        """Call after the values changed: products use copies in SMALL."""
        self.half = {n: v.to(SMALL) for n, v in self.values.items() if v.dim() == 2}

    def count(self) -> int:
        return sum(value.numel() for value in self.values.values())

    def _sequences(self, pack: Pack) -> tuple:
        lengths = pack.starts[1:] - pack.starts[:-1]
        return (pack.starts, pack.groups, len(pack.groups) - 1, self.shape.heads,
                int(lengths.max()), self.shape.causal)

    def forward(self, pack: Pack) -> torch.Tensor:
        """Hidden states after the last norm, [T][width] SMALL; keeps what backward needs."""
        shape, values, half = self.shape, self.values, self.half
        count, width = len(pack.tokens), shape.width
        sequences = self._sequences(pack)
        self.kept: list[tuple] = []
        x = values["embedding"][pack.tokens]
        delta: torch.Tensor | None = None

        def norm(gain: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            nonlocal x
            total = x if delta is None else torch.empty_like(x)
            out = torch.empty(count, width, dtype=SMALL)
            scale = torch.empty(count)
            call("norm_forward", x, delta, total, gain, out, scale, count, width)
            x = total
            return out, scale

        for layer in range(shape.layers):
            h1, scale1 = norm(values[f"{layer}.norm1"])
            x1 = x
            qkv = h1 @ half[f"{layer}.qkv"].t()
            mixed = torch.empty(count, width, dtype=SMALL)
            log_sums = torch.empty(count, shape.heads)
            call("attention_forward", qkv, values[f"{layer}.gains"], self.turns, *sequences,
                 mixed, log_sums)
            delta = mixed @ half[f"{layer}.out"].t()
            h2, scale2 = norm(values[f"{layer}.norm2"])
            both = h2 @ half[f"{layer}.both"].t()
            gated = torch.empty(count, shape.hidden, dtype=SMALL)
            call("gate_forward", both, gated, count, shape.hidden)
            delta = gated @ half[f"{layer}.down"].t()
            self.kept.append((h1, scale1, x1, qkv, mixed, log_sums, h2, scale2, x, both, gated))
        out, scale = norm(values["norm"])
        self.kept.append((scale, x))
        return out

    def backward(self, pack: Pack, back: torch.Tensor) -> None:
        """Adds to the gradients, given that of what forward returned ([T][width] SMALL)."""
        shape, values, half, gradients = self.shape, self.values, self.half, self.gradients
        count, width = len(pack.tokens), shape.width
        sequences = self._sequences(pack)
        scale, x = self.kept.pop()
        stream = torch.zeros(count, width)
        narrow = torch.empty(count, width, dtype=SMALL)
        call("norm_backward", back, x, values["norm"], scale, stream, narrow, gradients["norm"],
             count, width)
        for layer in reversed(range(shape.layers)):
            h1, scale1, x1, qkv, mixed, log_sums, h2, scale2, x2, both, gated = self.kept.pop()
            gradients[f"{layer}.down"] += narrow.t() @ gated
            gated_back = narrow @ half[f"{layer}.down"]
            both_back = torch.empty_like(both)
            call("gate_backward", both, gated_back, both_back, count, shape.hidden)
            gradients[f"{layer}.both"] += both_back.t() @ h2
            back = both_back @ half[f"{layer}.both"]
            call("norm_backward", back, x2, values[f"{layer}.norm2"], scale2, stream, narrow,
                 gradients[f"{layer}.norm2"], count, width)
            gradients[f"{layer}.out"] += narrow.t() @ mixed
            mixed_back = narrow @ half[f"{layer}.out"]
            qkv_back = torch.empty_like(qkv)
            call("attention_backward", qkv, values[f"{layer}.gains"], self.turns, *sequences,
                 mixed, log_sums, mixed_back, qkv_back, gradients[f"{layer}.gains"])
            gradients[f"{layer}.qkv"] += qkv_back.t() @ h1
            back = qkv_back @ half[f"{layer}.qkv"]
            call("norm_backward", back, x1, values[f"{layer}.norm1"], scale1, stream, narrow,
                 gradients[f"{layer}.norm1"], count, width)
        gradients["embedding"].index_add_(0, pack.tokens, stream)

    def predict(self, pack: Pack, learn: bool) -> tuple[torch.Tensor, torch.Tensor]:
        """Loss of each wanted token in nats, and whether the likeliest token was it."""
        hidden = self.forward(pack)
        rows = hidden[pack.positions]
        logits = rows @ self.half["embedding"].t()
        losses = torch.empty(len(rows))
        right = torch.empty(len(rows), dtype=torch.uint8)
        call("cross_entropy", logits, pack.wanted, pack.weights, losses, right, len(rows),
             self.shape.vocabulary)
        if learn:
            self.gradients["embedding"] += logits.t() @ rows
            back = torch.zeros_like(hidden)
            back.index_copy_(0, pack.positions, logits @ self.half["embedding"])
            self.backward(pack, back)
        else:
            self.kept.clear()
        return losses, right
