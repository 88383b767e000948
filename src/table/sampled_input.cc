#include "table/sampled_input.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <queue>
#include <string_view>
#include <utility>

#include "base/hash.h"
#include "batch/line_source.h"

namespace windrow::table {
namespace {

// Any number, the same in every version.
constexpr uint64_t kSeed = 0x5D0C2A;

uint64_t rank_of(uint64_t line) {
  char bytes[sizeof line];
  std::memcpy(bytes, &line, sizeof line);
  return hash64({bytes, sizeof bytes}, kSeed);
}

class SampledLines final : public batch::LineSource {
 public:
  SampledLines(std::unique_ptr<batch::LineSource> lines, const std::vector<uint64_t>& drawn)
      : lines_(std::move(lines)), drawn_(drawn) {}

  Result<std::optional<batch::Line>> next() override {
    while (next_ < drawn_.size()) {
      Result<std::optional<batch::Line>> line = lines_->next();
      if (!line || !*line) return line;
      // The file may have changed since.
      while (next_ < drawn_.size() && drawn_[next_] < (*line)->number)
        ++next_;
      if (next_ == drawn_.size() || drawn_[next_] != (*line)->number) continue;
      ++next_;
      return line;
    }
    return std::optional<batch::Line>();
  }

  uint64_t input_bytes_read() const override { return lines_->input_bytes_read(); }
  void interrupt() override { lines_->interrupt(); }

 private:
  std::unique_ptr<batch::LineSource> lines_;
  const std::vector<uint64_t>& drawn_;
  size_t next_ = 0;
};

}  // namespace

Result<std::unique_ptr<SampledInput>> SampledInput::draw(std::unique_ptr<batch::Input> input,
                                                         int64_t count) {
  Result<std::unique_ptr<batch::LineSource>> lines = batch::open_lines(*input);
  if (!lines) return lines.error();
  std::priority_queue<std::pair<uint64_t, uint64_t>> chosen;  // the greatest rank first
  for (;;) {
    const Result<std::optional<batch::Line>> line = (*lines)->next();
    // Lines before a damaged part run, as without a sample; the job reports it.
    if (!line || !*line) break;
    const std::pair<uint64_t, uint64_t> one = {rank_of((*line)->number), (*line)->number};
    if (static_cast<int64_t>(chosen.size()) < count) {
      chosen.push(one);
    } else if (count > 0 && one < chosen.top()) {
      chosen.pop();
      chosen.push(one);
    }
  }
  std::unique_ptr<SampledInput> sampled(new SampledInput(std::move(input)));
  for (; !chosen.empty(); chosen.pop())
    sampled->drawn_.push_back(chosen.top().second);
  std::ranges::sort(sampled->drawn_);
  return sampled;
}

Result<std::unique_ptr<batch::ByteSource>> SampledInput::open(batch::BeforeWait before_wait) {
  return input_->open(std::move(before_wait));
}

Result<std::unique_ptr<batch::LineSource>> SampledInput::open_lines(const batch::LineLimits& limits,
                                                                    batch::BeforeWait before_wait) {
  Result<std::unique_ptr<batch::LineSource>> lines =
      batch::open_lines(*input_, limits, std::move(before_wait));
  if (!lines) return lines.error();
  return std::make_unique<SampledLines>(*std::move(lines), drawn_);
}

}  // namespace windrow::table
