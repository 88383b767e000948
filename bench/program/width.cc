// Whether the branches of a level share forward passes: one pass for a token of each.
#include <fmt/format.h>

#include <boost/json/object.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "program/parts.h"
#include "program/program_rig.h"
#include "session/gauges.h"

namespace windrow::program_bench {
namespace {

constexpr double kWidthMin = 0.95;

constexpr const char* kLevel = R"(
return function(input)
  local ctx <close> = Context.new()
  ctx:user("Question " .. input.question .. ": which of these is the best one?")
  local answers = map(ctx:fork(input.branches), function(branch)
    return branch:generate{max_tokens = input.tokens, temperature = 1.0}
  end, input.branches)
  local tokens = 0
  for _, answer in ipairs(answers) do tokens = tokens + answer.completion_tokens end
  return tokens
end
)";

struct Widths {
  double own = 0;  // tokens of an instance by the passes in which it had rows
  double all = 0;  // tokens of all of them by the passes of the model
  int64_t passes = 0;
};

Widths widths_of(int32_t branches, int32_t instances, int32_t tokens) {
  // Answers end at their limit, so all have one length.
  ProgramRig rig({.model = "sim:answer-tokens=1000000", .limits = {}, .on_log = {}}, kLevel);
  std::vector<boost::json::object> inputs;
  for (int32_t i = 0; i < instances; ++i)
    inputs.push_back({{"question", i}, {"branches", branches}, {"tokens", tokens}});
  const int64_t passes_before = rig.stats().steps;
  Widths widths;
  double sampled = 0;
  for (const EndedRun& run : rig.run(inputs)) {
    const auto own = run.result.to_number<double>();
    if (own != branches * tokens)
      throw std::runtime_error(
          fmt::format("answers of {} tokens, not of {}", own / branches, tokens));
    widths.own += own / static_cast<double>(run.usage.passes) / instances;
    sampled += own;
  }
  widths.passes = rig.stats().steps - passes_before;
  widths.all = sampled / static_cast<double>(widths.passes);
  return widths;
}

}  // namespace

bool measure_width(const Shape& shape) {
  bool kept = true;
  fmt::print("{:>8} {:>9} {:>7} {:>14} {:>7} {:>14} {:>7}\n", "branches", "instances", "passes",
             "width of own", "share", "width of all", "share");
  for (const int32_t instances : {1, 8}) {
    for (const int32_t branches : {2, 4, 8, 16, 32}) {
      const Widths widths = widths_of(branches, instances, shape.tokens);
      const double own = widths.own / branches;
      const double all = widths.all / (branches * instances);
      const bool is_kept = own >= kWidthMin && all >= kWidthMin;
      kept = kept && is_kept;
      fmt::print("{:>8} {:>9} {:>7} {:>14.2f} {:>7.3f} {:>14.2f} {:>7.3f}  {}\n", branches,
                 instances, widths.passes, widths.own, own, widths.all, all,
                 session_bench::verdict(is_kept));
    }
  }
  fmt::print(
      "answers of {} tokens; the target is {} of the branches, and of those of all instances\n",
      shape.tokens, kWidthMin);
  return kept;
}

}  // namespace windrow::program_bench
