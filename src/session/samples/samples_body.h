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
// trainers' reference server.
#pragma once

#include <boost/json/object.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "session/samples/body_source.h"
#include "session/samples/sample.h"

namespace windrow::session {

struct RowShape {
  size_t layers = 1;  // values_per_row is a multiple of it
};

struct SamplesBodyOptions {
  RowShape shapes[kRowKinds];
  boost::json::object session_metadata;
  bool with_reward = false;  // trees: a sample has the member "reward"
};

std::unique_ptr<BodySource> make_samples_body(Samples samples, SamplesBodyOptions options);

}  // namespace windrow::session
