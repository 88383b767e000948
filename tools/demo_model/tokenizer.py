"""Byte-level BPE, as GGUF files of the kind "gpt2" with the pre-tokenizer "qwen2" have it.

Every digit is a token of its own there, which is what makes lists of digits and sums learnable.
Training counts pairs in distinct words; what it makes is text in tokenizer.json.
"""
from __future__ import annotations

import collections
import json
import re
from collections.abc import Iterable
from pathlib import Path

SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]

# The pre-tokenizer's expression with the classes of Python's re; the same on the texts used here.
_LETTER = r"[^\W\d_]"
_WORDS = re.compile(
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
    rf"|(?:[^\r\n\w]|_)?{_LETTER}+|\d| ?(?:[^\s\w]|_)+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")


def _byte_letters() -> list[str]:
    """The visible letter that stands for each byte."""
    visible = [*range(33, 127), *range(161, 173), *range(174, 256)]
    letters = [chr(b) if b in visible else "" for b in range(256)]
    spare = iter(range(256, 512))
    return [letter or chr(next(spare)) for letter in letters]


LETTERS = _byte_letters()


def _spell(word: str) -> list[str]:
    return [LETTERS[b] for b in word.encode()]


def _join(pieces: list[str], pair: tuple[str, str]) -> list[str]:
    joined: list[str] = []
    i = 0
    while i < len(pieces):
        if i + 1 < len(pieces) and (pieces[i], pieces[i + 1]) == pair:
            joined.append(pieces[i] + pieces[i + 1])
            i += 2
        else:
            joined.append(pieces[i])
            i += 1
    return joined


class Tokenizer:
    """Tokens are numbered: bytes, merges in their order, special tokens."""

    def __init__(self, merges: list[tuple[str, str]]) -> None:
        self.merges = merges
        self.tokens = LETTERS + [a + b for a, b in merges] + SPECIAL
        self.ids = {token: i for i, token in enumerate(self.tokens)}
        self.ranks = {pair: i for i, pair in enumerate(merges)}
        self.end_of_text, self.turn_start, self.turn_end = (self.ids[name] for name in SPECIAL)
        self._words: dict[str, list[int]] = {}

    def _word(self, word: str) -> list[int]:
        known = self._words.get(word)
        if known is not None:
            return known
        pieces = _spell(word)
        while len(pieces) > 1:
            pair = min(zip(pieces, pieces[1:]), key=lambda p: self.ranks.get(p, 1 << 30))
            if pair not in self.ranks:
                break
            pieces = _join(pieces, pair)
        result = [self.ids[piece] for piece in pieces]
        if len(self._words) > 200_000:
            self._words.clear()
        self._words[word] = result
        return result

    def encode(self, text: str) -> list[int]:
        """Text without special tokens."""
        return [i for word in _WORDS.findall(text) for i in self._word(word)]

    def turns(self, messages: list[dict]) -> list[int]:
        """Turns in ChatML."""
        result: list[int] = []
        for message in messages:
            result.append(self.turn_start)
            result += self.encode(f"{message['role']}\n{message['content']}")
            result.append(self.turn_end)
            result += self.encode("\n")
        return result

    def opening(self) -> list[int]:
        """What an assistant's answer follows."""
        return [self.turn_start, *self.encode("assistant\n")]

    def save(self, path: Path) -> None:
        path.write_text(json.dumps({"merges": [" ".join(pair) for pair in self.merges]},
                                   ensure_ascii=False) + "\n")

    @staticmethod
    def load(path: Path) -> Tokenizer:
        merges = json.loads(path.read_text())["merges"]
        return Tokenizer([tuple(pair.split(" ")) for pair in merges])


def train(texts: Iterable[str], size: int, times_min: int = 20) -> Tokenizer:
    """A vocabulary of `size` tokens, fewer when pairs become rarer than times_min."""
    counts = collections.Counter(word for text in texts for word in _WORDS.findall(text))
    words = [(_spell(word), times) for word, times in sorted(counts.items())]
    pairs: collections.Counter[tuple[str, str]] = collections.Counter()
    holders: dict[tuple[str, str], set[int]] = collections.defaultdict(set)
    for i, (pieces, times) in enumerate(words):
        for pair in zip(pieces, pieces[1:]):
            pairs[pair] += times
            holders[pair].add(i)
    merges: list[tuple[str, str]] = []
    while len(merges) < size - len(LETTERS) - len(SPECIAL):
        best = max(pairs, key=lambda pair: (pairs[pair], pair))
        if pairs[best] < times_min:
            break
        merges.append(best)
        for i in sorted(holders.pop(best)):
            pieces, times = words[i]
            for pair in zip(pieces, pieces[1:]):
                pairs[pair] -= times
            joined = _join(pieces, best)
            for pair in zip(joined, joined[1:]):
                pairs[pair] += times
                holders[pair].add(i)
            words[i] = (joined, times)
        del pairs[best]
    return Tokenizer(merges)
