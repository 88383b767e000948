// A slice of a ScheduledStep as tests write it: slice(row, first token, tokens, outputs).
#pragma once

#include <gmock/gmock.h>

#include <cstdint>

#include "engine/schedule/scheduled_step.h"

namespace windrow::engine::testing {

struct Want {
  uint64_t row;
  Position first;
  int32_t tokens_count;
  int32_t outputs_count;
};

MATCHER_P(IsSlice, want, "") {
  return arg.row == RowId(want.row) && arg.first == want.first &&
         arg.tokens_count == want.tokens_count && arg.outputs_count == want.outputs_count;
}

inline auto slice(uint64_t row, Position first, int32_t tokens_count, int32_t outputs_count) {
  return IsSlice(Want{row, first, tokens_count, outputs_count});
}

}  // namespace windrow::engine::testing
