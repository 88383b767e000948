"""The written-out passes against PyTorch's own differentiation, in f32, on a small shape."""
from __future__ import annotations

import unittest

import torch

from model import HEAD, Model, Pack, Shape


def reference(model: Model, pack: Pack, values: dict[str, torch.Tensor]) -> torch.Tensor:
    """The weighted loss by plain operations, a sequence at a time."""
    shape = model.shape

    def norm(x: torch.Tensor, gain: torch.Tensor) -> torch.Tensor:
        return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6) * gain

    def turn(x: torch.Tensor) -> torch.Tensor:
        table = model.turns[: x.shape[-2]]
        cosine, sine = table[:, : HEAD // 2], table[:, HEAD // 2 :]
        a, b = x[..., : HEAD // 2], x[..., HEAD // 2 :]
        return torch.cat([a * cosine - b * sine, b * cosine + a * sine], -1)

    hidden = []
    starts, groups = pack.starts.tolist(), pack.groups.tolist()
    first_of = {s: g for g, end in zip(groups[:-1], groups[1:]) for s in range(g, end)}
    for sequence, (start, end) in enumerate(zip(starts[:-1], starts[1:])):
        first = first_of[sequence]
        before = pack.tokens[starts[first] : starts[first + 1]] if first < sequence else []
        tokens = torch.tensor([*before, *pack.tokens[start:end]])
        x = values["embedding"][tokens]
        for layer in range(shape.layers):
            qkv = norm(x, values[f"{layer}.norm1"]) @ values[f"{layer}.qkv"].t()
            q, k, v = (part.view(-1, shape.heads, HEAD).transpose(0, 1)
                       for part in qkv.split(shape.width, -1))
            gains = values[f"{layer}.gains"]
            q, k = turn(norm(q, gains[:HEAD])), turn(norm(k, gains[HEAD:]))
            scores = q @ k.transpose(1, 2) / HEAD**0.5
            if shape.causal:
                hide = torch.ones(len(tokens), len(tokens)).triu(1).bool()
                scores = scores.masked_fill(hide, float("-inf"))
            mixed = (scores.softmax(-1) @ v).transpose(0, 1).reshape(-1, shape.width)
            x = x + mixed @ values[f"{layer}.out"].t()
            gate, up = (norm(x, values[f"{layer}.norm2"]) @ values[f"{layer}.both"].t()).split(
                shape.hidden, -1)
            x = x + (torch.nn.functional.silu(gate) * up) @ values[f"{layer}.down"].t()
        hidden.append(norm(x, values["norm"])[len(before):])
    logits = torch.cat(hidden)[pack.positions] @ values["embedding"].t()
    losses = torch.nn.functional.cross_entropy(logits, pack.wanted, reduction="none")
    return (losses * pack.weights).sum()


class GradientTest(unittest.TestCase):
    def check(self, causal: bool, groups: list[int]) -> None:
        torch.manual_seed(7)
        model = Model(Shape(layers=2, width=64, hidden=96, vocabulary=50, context=64,
                            causal=causal), seed=3)
        for name, value in model.values.items():
            if value.dim() == 1:
                value += 0.3 * torch.randn_like(value)
            elif name.endswith(("out", "down")):
                value *= 10
        model.refresh()
        tokens = torch.randint(0, 50, (150,))
        positions = torch.tensor([3, 9, 15, 16, 30, 57, 58, 88, 101, 130, 148])
        pack = Pack(tokens, torch.tensor([0, 17, 18, 59, 90, 123, 124, 150]),
                    torch.tensor(groups), positions, tokens[positions + 1], torch.rand(11) + 0.5)
        losses, _ = model.predict(pack, learn=True)
        values = {n: v.clone().requires_grad_() for n, v in model.values.items()}
        loss = reference(model, pack, values)
        loss.backward()
        self.assertAlmostEqual((losses * pack.weights).sum().item() / loss.item(), 1, delta=0.02)
        for name, value in values.items():
            own, true = model.gradients[name], value.grad
            error = (own - true).norm() / true.norm()
            self.assertLess(error, 0.06, f"{name}: relative error {error:.3f}")

    def test_causal(self) -> None:
        self.check(True, [0, 1, 2, 3, 4, 5, 6, 7])

    def test_every_token_sees_all(self) -> None:
        self.check(False, [0, 1, 2, 3, 4, 5, 6, 7])

    def test_a_shared_beginning_is_computed_once(self) -> None:
        self.check(True, [0, 4, 5, 7])


if __name__ == "__main__":
    unittest.main()
