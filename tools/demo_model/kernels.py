"""kernels.c, compiled when it changed, and called with tensors.

A ctypes library instead of a PyTorch extension: that needs no headers of PyTorch and compiles in a
second.
"""
from __future__ import annotations

import ctypes
import hashlib
import os
import subprocess
from pathlib import Path

import torch

SOURCE = Path(__file__).with_name("kernels.c")
FLAGS = ["-O3", "-march=native", "-mprefer-vector-width=512", "-ffast-math", "-fopenmp",
         "-shared", "-fPIC", "-Wall", "-Wextra", "-Wno-psabi"]
_MACHINE = Path("/proc/cpuinfo").read_text().split("flags", 1)[1].split("\n", 1)[0]

# What lies between the products, and goes into them. PyTorch multiplies bf16 fast from AVX-512 on;
# with AVX2 that is tens of times slower than f32.
SMALL = torch.bfloat16 if "avx512bw" in _MACHINE else torch.float32
if SMALL == torch.float32:
    FLAGS.append("-DSMALL_IS_FLOAT")


def _load() -> ctypes.CDLL:
    digest = hashlib.sha256(SOURCE.read_bytes() + " ".join(FLAGS).encode() + _MACHINE.encode())
    folder = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "windrow"
    library = folder / f"training-{digest.hexdigest()[:16]}.so"
    if not library.exists():
        folder.mkdir(parents=True, exist_ok=True)
        new = library.with_suffix(f".{os.getpid()}")
        subprocess.run(["gcc", *FLAGS, str(SOURCE), "-o", str(new), "-lm"], check=True)
        new.rename(library)
    return ctypes.CDLL(str(library))


_library = _load()


def call(name: str, *arguments: torch.Tensor | int | float | None) -> None:
    """Calls a function of kernels.c; tensors are passed by their address, None as null."""
    converted: list[object] = []
    for argument in arguments:
        if argument is None:
            converted.append(ctypes.c_void_p(0))
        elif isinstance(argument, torch.Tensor):
            assert argument.is_contiguous(), name
            converted.append(ctypes.c_void_p(argument.data_ptr()))
        elif isinstance(argument, float):
            converted.append(ctypes.c_float(argument))
        else:
            converted.append(ctypes.c_int64(int(argument)))
    getattr(_library, name)(*converted)
