"""Writes GGUF version 3: keys with values, tensors in F32, F16 or Q8_0. Reads what it wrote."""
from __future__ import annotations

import math
import struct
from pathlib import Path

import torch

ALIGNMENT = 32
_F32, _F16, _Q8_0 = 0, 1, 8
_UINT32, _FLOAT32, _BOOL, _STRING, _ARRAY, _INT32 = 4, 6, 7, 8, 9, 5


def _string(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def _value(value: object) -> bytes:
    if isinstance(value, bool):
        return struct.pack("<I?", _BOOL, value)
    if isinstance(value, int):
        return struct.pack("<II", _UINT32, value)
    if isinstance(value, float):
        return struct.pack("<If", _FLOAT32, value)
    if isinstance(value, str):
        return struct.pack("<I", _STRING) + _string(value)
    if isinstance(value, list) and value and isinstance(value[0], str):
        return (struct.pack("<IIQ", _ARRAY, _STRING, len(value))
                + b"".join(_string(text) for text in value))
    if isinstance(value, list) and value and isinstance(value[0], int):
        return struct.pack(f"<IIQ{len(value)}i", _ARRAY, _INT32, len(value), *value)
    raise TypeError(f"no GGUF type for {value!r}")


def _q8_0(tensor: torch.Tensor) -> bytes:
    """Blocks of 32: a scale in F16, then 32 signed bytes."""
    blocks = tensor.reshape(-1, 32)
    scales = (blocks.abs().max(dim=1).values / 127).half()
    inverse = torch.where(scales > 0, 1 / scales.float(), torch.zeros(()))
    numbers = (blocks * inverse[:, None]).round().clamp(-127, 127).to(torch.int8)
    return torch.cat([scales.view(torch.int8).reshape(-1, 2), numbers], dim=1).numpy().tobytes()


def write(path: Path, keys: dict[str, object], tensors: dict[str, torch.Tensor],
          matrix_type: str) -> None:
    """Matrices in matrix_type ("f16" or "q8_0"), vectors in F32. Atomic."""
    described, data = [], []
    offset = 0
    for name, tensor in tensors.items():
        tensor = tensor.float().contiguous()
        if tensor.dim() == 1:
            kind, content = _F32, tensor.numpy().tobytes()
        elif matrix_type == "q8_0":
            kind, content = _Q8_0, _q8_0(tensor)
        else:
            kind, content = _F16, tensor.half().numpy().tobytes()
        sizes = list(reversed(tensor.shape))
        described.append(_string(name) + struct.pack(
            f"<I{len(sizes)}QIQ", len(sizes), *sizes, kind, offset))
        content += b"\0" * (-len(content) % ALIGNMENT)
        data.append(content)
        offset += len(content)
    head = struct.pack("<4sIQQ", b"GGUF", 3, len(tensors), len(keys))
    head += b"".join(_string(name) + _value(value) for name, value in keys.items())
    head += b"".join(described)
    head += b"\0" * (-len(head) % ALIGNMENT)
    new = path.with_suffix(".new")
    new.write_bytes(head + b"".join(data))
    new.rename(path)


class _Reader:
    """What lies in the bytes of a file, one thing after the other."""

    def __init__(self, data: bytearray) -> None:
        self.data = data
        self.at = 0

    def unpack(self, form: str) -> tuple:
        found = struct.unpack_from("<" + form, self.data, self.at)
        self.at += struct.calcsize("<" + form)
        return found

    def number(self, form: str) -> int:
        return self.unpack(form)[0]

    def string(self) -> str:
        size = self.number("Q")
        self.at += size
        return self.data[self.at - size : self.at].decode()

    def value(self, kind: int) -> object:
        if kind == _STRING:
            return self.string()
        if kind == _ARRAY:
            of, count = self.unpack("IQ")
            return [self.value(of) for _ in range(count)]
        return self.unpack({_UINT32: "I", _INT32: "i", _FLOAT32: "f", _BOOL: "?"}[kind])[0]


def read(path: Path) -> tuple[dict[str, object], dict[str, torch.Tensor]]:
    """The keys and, in F32, the tensors of a file that `write` made with matrices in F16."""
    reader = _Reader(bytearray(path.read_bytes()))
    magic, version, tensor_count, key_count = reader.unpack("4sIQQ")
    if (magic, version) != (b"GGUF", 3):
        raise ValueError(f"{path} is no GGUF file of version 3")
    keys = {}
    for _ in range(key_count):
        name = reader.string()
        keys[name] = reader.value(reader.number("I"))
    described = []
    for _ in range(tensor_count):
        name = reader.string()
        sizes = reader.unpack(f"{reader.number('I')}Q")
        described.append((name, sizes[::-1], *reader.unpack("IQ")))
    begin = reader.at + -reader.at % ALIGNMENT
    tensors = {}
    for name, shape, kind, offset in described:
        if kind not in (_F32, _F16):
            raise ValueError(f"{path}: {name} is of the type {kind}; only F32 and F16 are read")
        data = torch.frombuffer(reader.data, count=math.prod(shape),
                                offset=begin + offset,
                                dtype=torch.float32 if kind == _F32 else torch.float16)
        tensors[name] = data.reshape(shape).float()
    return keys, tensors
