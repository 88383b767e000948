// What forking costs: prompt tokens computed, and the time until all branches are in the batch.
#include <fmt/format.h>

#include <algorithm>
#include <boost/json/object.hpp>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "program/parts.h"
#include "program/program_rig.h"
#include "session/gauges.h"

namespace windrow::program_bench {
namespace {

constexpr double kAdmittedMsMax = 5.0;

// `warm`: a branch has been answered before, so the context is computed when it is forked.
constexpr const char* kFork = R"(
return function(input)
  local ctx <close> = Context.new()
  ctx:user(input.text):cue()
  local first <close> = ctx:fork()
  if input.warm then first:generate{max_tokens = 1} end
  log("fork")
  local branches = ctx:fork(input.forks)
  map(branches, function(branch)
    return branch:generate{max_tokens = 2, temperature = 1.0}
  end, input.forks)
  return #ctx
end
)";

// A text whose chat has so many tokens: of a simulated model each byte that is in no word is one.
std::string text_for(const llm::Tokenizer& tokenizer, int32_t tokens, int32_t round) {
  const auto length_with = [&](const std::string& text) {
    llm::Chat chat;
    chat.messages.push_back(boost::json::object{{"role", "user"}, {"content", text}});
    const auto rendered = tokenizer.render(chat, true);
    return static_cast<int32_t>(std::get<llm::RenderedChat>(rendered).tokens.size());
  };
  // Begins differently in each round, so that no round finds the one before in the cache.
  const std::string begin = fmt::format("#{}#", round);
  return begin + std::string(static_cast<size_t>(tokens - length_with(begin)), '#');
}

struct ForkRound {
  int64_t context = 0;   // tokens
  int64_t computed = 0;  // prompt tokens
  double admitted_ms = 0;
};

class Forks {
 public:
  explicit Forks(const Shape& shape)
      : shape_(shape),
        rig_({.model = "sim:instant,answer-tokens=1000000",
              .limits = {},
              .on_log = [this](std::string_view) { mark(); }},
             kFork) {}

  ForkRound play(bool warm) {
    const boost::json::object input{{"text", text_for(rig_.tokenizer(), shape_.context, ++rounds_)},
                                    {"forks", shape_.forks},
                                    {"warm", warm}};
    const llm::BackendStats before = rig_.stats();
    const std::vector<EndedRun> runs = rig_.run({input});
    const std::optional<TimePoint> seen = rig_.rows_seen_at();
    if (!seen) throw std::runtime_error("not all branches were seen in passes");
    const std::scoped_lock lock(mutex_);
    return {.context = runs.front().result.to_number<int64_t>(),
            .computed = rig_.stats().prompt_tokens - before.prompt_tokens,
            .admitted_ms = seconds(*seen - forked_at_) * 1e3};
  }

 private:
  void mark() {
    rig_.watch_rows(static_cast<size_t>(shape_.forks));
    const std::scoped_lock lock(mutex_);
    forked_at_ = rig_.clock().now();
  }

  const Shape shape_;
  std::mutex mutex_;
  TimePoint forked_at_;
  int32_t rounds_ = 0;
  ProgramRig rig_;
};

bool report(const std::string& name, const std::vector<ForkRound>& rounds, const Shape& shape) {
  std::vector<double> times;
  int64_t computed_most = 0;
  for (const ForkRound& round : rounds) {
    times.push_back(round.admitted_ms);
    computed_most = std::max(computed_most, round.computed);
  }
  const int64_t context = rounds.front().context;
  // Each branch computes the last token of its prompt: the model has to say what follows it.
  const int64_t allowed = context + shape.forks;
  const double median = session_bench::median(times);
  const bool kept = computed_most <= allowed && median <= kAdmittedMsMax;
  fmt::print(
      "{:6} {} branches of a context of {} tokens: {} prompt tokens computed at most ({} allowed), "
      "{} without sharing; all rows admitted {:.2f} ms after the call (target {}), longest of {}: "
      "{:.2f}  {}\n",
      name, shape.forks, context, computed_most, allowed, context * shape.forks, median,
      kAdmittedMsMax, rounds.size(), *std::ranges::max_element(times),
      session_bench::verdict(kept));
  return kept;
}

}  // namespace

bool measure_fork(const Shape& shape) {
  Forks forks(shape);
  forks.play(false);
  std::vector<ForkRound> cold;
  std::vector<ForkRound> warm;
  for (int32_t round = 0; round < shape.rounds; ++round) {
    cold.push_back(forks.play(false));
    warm.push_back(forks.play(true));
  }
  const bool cold_kept = report("cold", cold, shape);
  return report("warm", warm, shape) && cold_kept;
}

}  // namespace windrow::program_bench
