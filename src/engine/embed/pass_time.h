// PassTime: how long a pass takes by its tokens: something fixed, and so much a token. Learned from
// the passes that ran, newer ones counting more. Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "base/clock.h"

namespace windrow::engine {

// Used by one thread at a time.
class PassTime {
 public:
  void took(int32_t tokens, Duration duration);

  // What a pass costs however few tokens it has; 0 while passes of one size alone were seen.
  Duration fixed() const;

  // The most tokens, up to `tokens_max`, of a pass that takes no longer than this; at least 1.
  // `otherwise` while nothing is known.
  int32_t tokens_within(Duration duration, int32_t tokens_max, int32_t otherwise) const;

 private:
  struct Line {
    double fixed_s = 0;
    double token_s = 0;
  };
  std::optional<Line> line() const;

  // Of the passes, weighted: how many, and the sums of what least squares needs.
  double weight_ = 0;
  double tokens_ = 0;
  double tokens_squared_ = 0;
  double seconds_ = 0;
  double tokens_seconds_ = 0;
};

}  // namespace windrow::engine
