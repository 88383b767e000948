"""Samples of a session: the safetensors file that POST samples answers with."""

import json
import struct

TYPES = {"I64": ("q", 8), "I32": ("i", 4), "F64": ("d", 8), "U8": ("B", 1)}


class Tensor:
    def __init__(self, dtype, shape, values):
        self.dtype, self.shape, self.values = dtype, shape, values

    def rows(self):
        """The values behind the first dimension, as lists."""
        width = 1
        for size in self.shape[1:]:
            width *= size
        return [list(self.values[i * width:(i + 1) * width]) for i in range(self.shape[0])]


def read_tensors(data):
    """{name: Tensor}. Every byte belongs to one tensor."""
    (size,) = struct.unpack_from("<Q", data)
    if size % 8 != 0:
        raise AssertionError(f"the header has {size} bytes, which is no multiple of 8")
    header = json.loads(data[8:8 + size])
    body = data[8 + size:]
    tensors, at = {}, 0
    for name, said in header.items():
        begin, end = said["data_offsets"]
        code, width = TYPES[said["dtype"]]
        count = 1
        for length in said["shape"]:
            count *= length
        if (begin, end) != (at, at + count * width):
            raise AssertionError(f"{name} lies at {begin} to {end}, not from {at} on")
        tensors[name] = Tensor(said["dtype"], said["shape"],
                               struct.unpack(f"<{count}{code}", body[begin:end]))
        at = end
    if at != len(body):
        raise AssertionError(f"{len(body) - at} bytes belong to no tensor")
    return tensors


class Samples:
    """The samples in it, as dictionaries of their fields, and `metadata`, `empty_reason`."""

    def __init__(self, data):
        tensors = read_tensors(data)
        meta = json.loads(bytes(tensors.pop("_samples_meta").values))
        self.metadata, self.empty_reason = meta["session_metadata"], meta["empty_reason"]
        self.samples = []
        for index, sample in enumerate(meta["samples"]):
            for field in ("tokens", "loss_mask", "rollout_log_probs", "rollout_routed_experts",
                          "rollout_indexer_topk"):
                there = tensors.pop(f"{field}.{index}", None)
                if (there is None) != (field in sample["nulls"]):
                    raise AssertionError(f"{field} of sample {index}: {sample['nulls']}")
                sample[field] = there
            self.samples.append(sample)
        if tensors:
            raise AssertionError(f"no sample has these: {list(tensors)}")

    def one(self):
        if len(self.samples) != 1:
            raise AssertionError(f"{len(self.samples)} samples, {self.empty_reason}")
        return self.samples[0]
