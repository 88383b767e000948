// PrefixHold: the owner of a prefix that a backend keeps computed. It promises speed, never an
// answer: a held prefix is evicted last, and one that was evicted is computed again.
#pragma once

namespace windrow::llm {

// Released by its destructor, on any thread, at once and without blocking on the model. It may
// outlive its backend; it has no effect then.
class PrefixHold {
 public:
  virtual ~PrefixHold() = default;
};

}  // namespace windrow::llm
