// The requests that `windrow probe` sends, without end. Used by one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "app/commands/probe_options.h"
#include "base/result.h"
#include "llm/request.h"

namespace windrow::app {

class ProbeRequests {
 public:
  // Reads the first rows of --input, as many as a probe may send. kInvalid where the file has no
  // row that could be sent, other errors where it cannot be read. `model`: replaces the rows' own;
  // empty: the one that each row names.
  static Result<ProbeRequests> open(const ProbeCommand& command, const std::string& model);

  // The rows of the file in their order, then again from the first; without a file the prompt.
  llm::Request next();

 private:
  ProbeRequests() = default;

  llm::Request made() const;

  std::vector<llm::Request> rows_;  // empty: made from the members below
  std::string model_;
  std::string prompt_;  // empty: our own
  int64_t output_tokens_ = 0;
  uint64_t given_ = 0;
};

}  // namespace windrow::app
