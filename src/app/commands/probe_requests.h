// What `windrow probe` sends, one after the other, without end.
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
  // Reads the first rows of --input, as many as a probe may want. Fails where the file cannot be
  // read or has no row that could be sent. `model` is asked for; empty: what the rows name.
  static Result<ProbeRequests> open(const ProbeCommand& command, const std::string& model);

  // Rows of a file in their order, then again from the first; else the prompt.
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
