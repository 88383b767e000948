#include "report/progress.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/format.h"

namespace windrow::report {
namespace {

// The time that a rate is measured over: long enough that a single step does not show.
constexpr Duration kWindow = std::chrono::seconds(30);

// Rows may be rarer than that: then as far back as it takes to have seen so many.
constexpr int64_t kWindowRows = 16;

// Fewer than this say nothing about the rest.
constexpr int64_t kRowsForEstimate = 3;
constexpr Duration kTimeForEstimate = std::chrono::seconds(5);

// Readings of the last minute are kept as they come, five a second; those before get sparser.
constexpr size_t kSamplesMax = 1024;
constexpr Duration kDenseSpan = std::chrono::seconds(60);

double per_second(int64_t count, Duration span) {
  return span > Duration::zero() ? static_cast<double>(count) / seconds(span) : 0;
}

bool rows_run(batch::JobPhase phase) {
  return phase == batch::JobPhase::kRunning || phase == batch::JobPhase::kStopping;
}

std::string_view words_for(batch::JobPhase phase) {
  switch (phase) {
    case batch::JobPhase::kOpening:
      return "reading the files";
    case batch::JobPhase::kWaiting:
      return "loading the model";
    case batch::JobPhase::kChecking:
      return "checking the input";
    case batch::JobPhase::kRunning:
      return "";
    case batch::JobPhase::kStopping:
      return "stopping";
    case batch::JobPhase::kOrdering:
      return "putting the results in order";
    case batch::JobPhase::kEnded:
      return "";
  }
  return "";
}

std::string progress_rows_text(const ProgressNumbers& numbers) {
  if (numbers.rows_total < 0) return fmt::format("{} rows", with_thousands(numbers.rows_done));
  return fmt::format("{}/{}", with_thousands(numbers.rows_done),
                     with_thousands(numbers.rows_total));
}

int64_t failures_of(const std::vector<batch::FailureKind>& failures) {
  int64_t rows = 0;
  for (const batch::FailureKind& kind : failures)
    rows += kind.rows;
  return rows;
}

std::string memory_text(const ProgressNumbers& numbers) {
  if (numbers.device_bytes_max == 0) return human_bytes(numbers.device_bytes_used);
  return fmt::format("{} of {}", human_bytes(numbers.device_bytes_used),
                     human_bytes(numbers.device_bytes_max));
}

std::string left_text(const ProgressNumbers& numbers) {
  return numbers.left ? human_duration(*numbers.left) : "?";
}

}  // namespace

ProgressReading read_progress(const batch::JobCounters& counters, const llm::BackendStats& backend,
                              TimePoint now) {
  ProgressReading reading{.at = now, .backend = backend};
  reading.phase = counters.phase;
  reading.rows_total = counters.rows_total;
  const int64_t failed = counters.rows_failed;
  reading.rows_this_run = counters.rows_succeeded + failed;
  reading.rows_done = counters.rows_before + reading.rows_this_run;
  reading.rows_failed = counters.rows_before_failed + failed;
  reading.rows_of_texts = counters.rows_of_texts;
  reading.texts = counters.texts;
  reading.failures = counters.failures.read();
  return reading;
}

void Progress::observe(const ProgressReading& reading) {
  last_ = reading;
  if (!begin_) begin_ = reading.at;
  if (!rows_run(reading.phase)) return;
  samples_.push_back(Sample{.at = reading.at,
                            .rows = reading.rows_this_run,
                            .texts = reading.texts,
                            .prompt_tokens = reading.backend.prompt_tokens,
                            .cached_tokens = reading.backend.cached_tokens,
                            .generated_tokens = reading.backend.generated_tokens});
  if (samples_.size() > kSamplesMax) thin_out();
}

// Every second one of the old samples goes, and of all of them when the readings come so fast that
// most are young. The first and the last stay.
void Progress::thin_out() {
  const TimePoint dense_from = samples_.back().at - kDenseSpan;
  const auto young = std::ranges::count_if(
      samples_, [&](const Sample& sample) { return sample.at >= dense_from; });
  const bool thin_all = static_cast<size_t>(young) > kSamplesMax / 2;
  std::vector<Sample> kept;
  kept.reserve(kSamplesMax);
  for (size_t i = 0; i < samples_.size(); ++i) {
    const bool stays = i % 2 == 0 || i + 1 == samples_.size();
    if (stays || (!thin_all && samples_[i].at >= dense_from)) kept.push_back(samples_[i]);
  }
  samples_.swap(kept);
}

// The youngest sample that is at least so far back; the first one when none is.
const Progress::Sample& Progress::start_of_window(Duration span_min, int64_t rows_min) const {
  const Sample& last = samples_.back();
  for (size_t i = samples_.size(); i-- > 0;) {
    const Sample& sample = samples_[i];
    if (last.at - sample.at >= span_min && last.rows - sample.rows >= rows_min) return sample;
  }
  return samples_.front();
}

ProgressNumbers Progress::numbers() const {
  ProgressNumbers numbers{.phase = last_.phase,
                          .rows_done = last_.rows_done,
                          .rows_total = last_.rows_total,
                          .rows_failed = last_.rows_failed,
                          .failures = last_.failures,
                          .rows_running = last_.backend.rows_running,
                          .retries = last_.retries,
                          .device_bytes_used = last_.backend.device_bytes_used,
                          .device_bytes_max = last_.backend.device_bytes_max,
                          .elapsed = begin_ ? last_.at - *begin_ : Duration{},
                          .left = {},
                          .upstreams = last_.upstreams};
  if (samples_.empty()) return numbers;

  const Sample& last = samples_.back();
  const Sample& tokens_from = start_of_window(kWindow, 0);
  numbers.prompt_tokens_per_s =
      per_second(last.prompt_tokens - tokens_from.prompt_tokens, last.at - tokens_from.at);
  const int64_t cached = last.cached_tokens - tokens_from.cached_tokens;
  const int64_t prompts = last.prompt_tokens - tokens_from.prompt_tokens + cached;
  if (prompts > 0)
    numbers.prompt_reused = static_cast<double>(cached) / static_cast<double>(prompts);
  numbers.prompts_only = last.generated_tokens == 0 && last.prompt_tokens > 0;
  const int64_t failed = failures_of(last_.failures);
  numbers.texts_only = last.generated_tokens == 0 && last_.rows_of_texts > 0 &&
                       last_.rows_of_texts + failed >= last_.rows_this_run;
  numbers.one_text_a_row = last_.texts == last_.rows_of_texts;
  numbers.generated_tokens_per_s =
      per_second(last.generated_tokens - tokens_from.generated_tokens, last.at - tokens_from.at);

  const Sample& rows_from = start_of_window(kWindow, kWindowRows);
  const int64_t rows = last.rows - rows_from.rows;
  const Duration span = last.at - rows_from.at;
  numbers.rows_per_s = per_second(rows, span);
  numbers.texts_per_s = per_second(last.texts - rows_from.texts, span);

  const bool estimable = last_.phase == batch::JobPhase::kRunning && last_.rows_total >= 0 &&
                         rows >= kRowsForEstimate && span >= kTimeForEstimate;
  if (estimable) {
    const int64_t rows_left = std::max<int64_t>(0, last_.rows_total - last_.rows_done);
    numbers.left = std::chrono::duration_cast<Duration>(
        std::chrono::duration<double>(static_cast<double>(rows_left) / numbers.rows_per_s));
  }
  return numbers;
}

std::vector<ProgressPiece> progress_pieces(const ProgressNumbers& numbers) {
  std::vector<ProgressPiece> pieces;
  const std::string_view phase = words_for(numbers.phase);
  if (!phase.empty()) pieces.push_back({.text = std::string(phase), .rank = 0});
  if (!rows_run(numbers.phase)) return pieces;

  pieces.push_back({.text = progress_rows_text(numbers), .rank = 0});
  if (numbers.rows_total > 0) {
    pieces.push_back({.text = percent_done(numbers.rows_done, numbers.rows_total), .rank = 3});
  }
  if (numbers.rows_failed > 0) {
    pieces.push_back({.text = fmt::format("{} failed", with_thousands(numbers.rows_failed)),
                      .alarming = true,
                      .rank = 1});
  }
  if (std::string retries = retries_text(numbers.retries); !retries.empty())
    pieces.push_back({.text = std::move(retries), .alarming = true, .rank = 3});
  if (numbers.texts_only) {
    pieces.push_back(
        {.text = fmt::format("{} texts/s", human_rate(numbers.texts_per_s)), .rank = 2});
  }
  if (!numbers.texts_only || !numbers.one_text_a_row) {
    pieces.push_back({.text = fmt::format("{} rows/s", human_rate(numbers.rows_per_s)), .rank = 2});
  }
  pieces.push_back({.text = fmt::format("{} prompt tok/s", human_rate(numbers.prompt_tokens_per_s)),
                    .rank = numbers.prompts_only ? 4 : 6});
  if (numbers.prompt_reused > 0) {
    pieces.push_back(
        {.text = fmt::format("{} reused", percent_of(numbers.prompt_reused)), .rank = 7});
  }
  if (!numbers.prompts_only && !numbers.texts_only) {
    pieces.push_back(
        {.text = fmt::format("{} output tok/s", human_rate(numbers.generated_tokens_per_s)),
         .rank = 4});
  }
  if (numbers.upstreams.empty()) {
    pieces.push_back({.text = fmt::format("{} in batch", numbers.rows_running), .rank = 8});
  }
  for (const llm::UpstreamStatus& upstream : numbers.upstreams) {
    pieces.push_back(
        {.text = upstream_piece(upstream), .alarming = upstream.state != "ok", .rank = 8});
  }
  if (numbers.device_bytes_used > 0) {
    pieces.push_back({.text = memory_text(numbers), .rank = 9});
  }
  if (numbers.elapsed >= std::chrono::seconds(1))
    pieces.push_back({.text = human_duration(numbers.elapsed), .rank = 5});
  if (numbers.phase == batch::JobPhase::kRunning) {
    pieces.push_back({.text = fmt::format("ETA {}", left_text(numbers)), .rank = 1});
  }
  return pieces;
}

std::string fit_pieces(const std::vector<ProgressPiece>& pieces, size_t width, bool colour) {
  constexpr std::string_view kBetween = "  ";
  std::vector<const ProgressPiece*> shown;
  size_t columns = 0;
  for (const ProgressPiece& piece : pieces) {
    columns += piece.text.size() + (shown.empty() ? 0 : kBetween.size());
    shown.push_back(&piece);
  }
  while (columns > width && shown.size() > 1) {
    const auto last =
        std::ranges::max_element(shown, {}, [](const ProgressPiece* piece) { return piece->rank; });
    columns -= (*last)->text.size() + kBetween.size();
    shown.erase(last);
  }
  std::string line;
  for (const ProgressPiece* piece : shown) {
    if (!line.empty()) line += kBetween;
    // Only one that stands alone can still be too long.
    const std::string_view text = std::string_view(piece->text).substr(0, width);
    if (colour && piece->alarming) {
      line += fmt::format("\x1b[31m{}\x1b[0m", text);
    } else {
      line += text;
    }
  }
  return line;
}

std::string progress_sentence(const ProgressNumbers& numbers) {
  const std::string_view phase = words_for(numbers.phase);
  if (!rows_run(numbers.phase)) return std::string(phase);
  std::string text;
  if (!phase.empty()) text += fmt::format("{}: ", phase);
  text += fmt::format("{} rows done", rows_done_text(numbers));
  if (numbers.rows_total > 0) {
    text += fmt::format(" ({})", percent_done(numbers.rows_done, numbers.rows_total));
  }
  text += fmt::format(", {} failed; {}", with_thousands(numbers.rows_failed), rates_text(numbers));
  if (numbers.prompt_reused > 0) {
    text += fmt::format(", {} of the prompts reused", percent_of(numbers.prompt_reused));
  }
  if (numbers.upstreams.empty()) text += fmt::format(", {} rows in batch", numbers.rows_running);
  if (numbers.device_bytes_used > 0) text += fmt::format(", memory {}", memory_text(numbers));
  if (const std::string retries = retries_text(numbers.retries); !retries.empty())
    text += fmt::format("; {}", retries);
  if (numbers.elapsed >= std::chrono::seconds(1))
    text += fmt::format("; {} so far", human_duration(numbers.elapsed));
  if (numbers.phase == batch::JobPhase::kRunning)
    text += fmt::format("; time left {}", left_text(numbers));
  for (const llm::UpstreamStatus& upstream : numbers.upstreams)
    text += fmt::format("; {}", upstream_piece(upstream));
  return text;
}

std::string rows_done_text(const ProgressNumbers& numbers) {
  if (numbers.rows_total < 0) return with_thousands(numbers.rows_done);
  return fmt::format("{} of {}", with_thousands(numbers.rows_done),
                     with_thousands(numbers.rows_total));
}

std::string percent_done(int64_t part, int64_t whole) {
  const double exact = 100.0 * static_cast<double>(part) / static_cast<double>(whole);
  return fmt::format("{:.1f} %", part < whole ? std::min(exact, 99.9) : 100.0);
}

std::string rates_text(const ProgressNumbers& numbers) {
  std::string text;
  if (numbers.texts_only) text = fmt::format("{} texts/s, ", human_rate(numbers.texts_per_s));
  if (!numbers.texts_only || !numbers.one_text_a_row)
    text += fmt::format("{} rows/s, ", human_rate(numbers.rows_per_s));
  text += fmt::format("{} prompt ", human_rate(numbers.prompt_tokens_per_s));
  if (!numbers.prompts_only && !numbers.texts_only)
    text += fmt::format("and {} output ", human_rate(numbers.generated_tokens_per_s));
  return text + "tokens/s";
}

std::string retries_text(const dispatch::RetryReading& retries) {
  if (retries.waiting == 0) return "";
  const std::string rows = with_thousands(retries.waiting);
  // A refusal for load uses up no attempt.
  if (retries.try_next <= 1) return fmt::format("{} refused, trying again", rows);
  return fmt::format("{} trying again, {} of {}", rows, retries.try_next, retries.tries_max);
}

}  // namespace windrow::report
