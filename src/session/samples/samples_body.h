// SamplesBody: samples as one safetensors file, the reply of POST /sessions/{id}/samples:
//
//   8 bytes, the length of the header, little endian | header, JSON, padded by blanks to 8 bytes |
//   data
//
//   tokens.i I64 [n]   loss_mask.i U8 [r]   rollout_log_probs.i F64 [r]
//   rollout_routed_experts.i, rollout_indexer_topk.i  I32 [n - 1, layers, top-k], where there are
//   any _samples_meta U8: JSON with the rest
//
// The format is that of https://github.com/huggingface/safetensors; the names are those of the
// trainers' reference server, and so is the order of the tensors: by type, then by name. The length
// is known at once. In memory are the header and the JSON; tensors are made while they are sent.
#pragma once

#include <boost/json/object.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "session/samples/body_source.h"
#include "session/samples/sample.h"

namespace windrow::session {

struct RowShape {
  size_t layers = 1;  // where values_per_row is no multiple of it, or it is 0, a row is one list
};

struct SamplesBodyOptions {
  RowShape shapes[kRowKinds];
  boost::json::object session_metadata;

  // Trees: a sample has the member "reward", that of its metadata or null.
  bool with_reward = false;
};

std::unique_ptr<BodySource> make_samples_body(Samples samples, SamplesBodyOptions options);

}  // namespace windrow::session
