"""A GGUF file becomes the checkpoint it was made of: python3 -m unittest import_gguf_test."""
from __future__ import annotations

import tempfile
import unittest
from pathlib import Path

import torch

import gguf_file
from export import keys_of, tensors_of
from import_gguf import shape_of, tokenizer_of, values_of
from model import Model, Shape
from tokenizer import Tokenizer


class RoundTripTest(unittest.TestCase):
    def test_values_shape_and_tokenizer_come_back(self) -> None:
        tokenizer = Tokenizer([("a", "b"), ("\u0120", "ab")])
        shape = Shape(layers=2, width=64, hidden=96, vocabulary=len(tokenizer.tokens), context=48)
        values = {name: torch.randn_like(value) if value.dim() == 1 else value.half().float()
                  for name, value in Model(shape, seed=5).values.items()}
        with tempfile.TemporaryDirectory() as folder:
            first, second = Path(folder) / "first.gguf", Path(folder) / "second.gguf"
            written = keys_of(shape, tokenizer, "Name", "About."), tensors_of(shape, values)
            gguf_file.write(first, *written, "f16")
            keys, tensors = gguf_file.read(first)
            gguf_file.write(second, keys, tensors, "f16")
            self.assertEqual(first.read_bytes(), second.read_bytes())
        self.assertEqual(shape_of(keys), shape)
        self.assertEqual(tokenizer_of(keys).merges, tokenizer.merges)
        found = values_of(shape, tensors)
        self.assertEqual(found.keys(), values.keys())
        for name, value in values.items():
            self.assertTrue(torch.equal(found[name], value), name)


if __name__ == "__main__":
    unittest.main()
