"""Muon for matrices, Adam for the embedding and the gains of norms.

Muon (Keller Jordan et al., 2024, "Muon: an optimizer for hidden layers"): the momentum of a matrix
is replaced by the nearest matrix whose singular values are about one, by five Newton-Schulz
iterations. Chosen for what others report of it; it was not compared with Adam on these tasks.
"""
from __future__ import annotations

import torch

from kernels import SMALL, call
from model import Model

_MOMENTUM = 0.95
_DECAY = 0.01


def _orthogonal(matrix: torch.Tensor) -> torch.Tensor:
    a, b, c = 3.4445, -4.7750, 2.0315
    x = matrix.to(SMALL)
    wide = x.shape[0] <= x.shape[1]
    if not wide:
        x = x.t().contiguous()
    x = x / (x.norm() + 1e-7)
    for _ in range(5):
        square = x @ x.t()
        x = a * x + (b * square + c * (square @ square)) @ x
    return x if wide else x.t()


class Optimizer:
    """Steps a model; its state is a dict of tensors, so that a run can be continued."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.state: dict[str, torch.Tensor] = {}
        for name, value in model.values.items():
            self.state[f"{name}/mean"] = torch.zeros_like(value)
            if not self._is_matrix(name):
                self.state[f"{name}/square"] = torch.zeros_like(value)

    def _is_matrix(self, name: str) -> bool:
        return self.model.values[name].dim() == 2 and name != "embedding"

    def _parts(self, name: str) -> int:
        """Matrices that lie in one array and have nothing to do with each other."""
        return {"qkv": 3, "both": 2}.get(name.rsplit(".", 1)[-1], 1)

    def step(self, number: int, matrix_rate: float, other_rate: float) -> None:
        """number counts from 1. Uses the gradients up."""
        for name, value in self.model.values.items():
            gradient, mean = self.model.gradients[name], self.state[f"{name}/mean"]
            if self._is_matrix(name):
                mean.mul_(_MOMENTUM).add_(gradient)
                ahead = gradient.add(mean, alpha=_MOMENTUM)
                for to, part in zip(value.chunk(self._parts(name)),
                                    ahead.chunk(self._parts(name))):
                    scale = max(1.0, part.shape[0] / part.shape[1]) ** 0.5
                    to.mul_(1 - matrix_rate * _DECAY)
                    to.add_(_orthogonal(part).float(), alpha=-matrix_rate * scale)
            else:
                call("adam", value, gradient, mean, self.state[f"{name}/square"], value.numel(),
                     float(other_rate), 0.0, 0.9, 0.98, float(number))
            gradient.zero_()
        self.model.refresh()
