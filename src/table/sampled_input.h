// SampledInput: some of the lines of an input, drawn at random: the ones whose numbers have the
// smallest hashes. So the same lines are drawn each time, a larger sample has a smaller one in it,
// and a job can be continued with more of them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "batch/input.h"

namespace windrow::table {

// Thread-safe.
class SampledInput final : public batch::Input {
 public:
  // Reads `input`, which can be opened more than once, to its end, and draws `count` of its lines;
  // all where there are no more. Memory: 16 bytes for each that is drawn. Fails as the input.
  static Result<std::unique_ptr<SampledInput>> draw(std::unique_ptr<batch::Input> input,
                                                    int64_t count);

  // batch::Input
  Result<std::unique_ptr<batch::ByteSource>> open(batch::BeforeWait before_wait) override;
  Result<std::unique_ptr<batch::LineSource>> open_lines(const batch::LineLimits& limits,
                                                        batch::BeforeWait before_wait) override;
  bool rereadable() const override { return input_->rereadable(); }
  std::optional<uint64_t> size() const override { return input_->size(); }
  const std::string& name() const override { return input_->name(); }

  // Sorted.
  const std::vector<uint64_t>& drawn() const { return drawn_; }

 private:
  explicit SampledInput(std::unique_ptr<batch::Input> input) : input_(std::move(input)) {}

  const std::unique_ptr<batch::Input> input_;
  std::vector<uint64_t> drawn_;  // numbers of lines, sorted
};

}  // namespace windrow::table
