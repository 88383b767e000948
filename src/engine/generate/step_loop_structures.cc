// The part of StepLoop that is about structures: rows that sit out until their masks are there, and
// what is said without asking the model.
#include <algorithm>
#include <utility>

#include "engine/generate/step_loop.h"
#include "engine/structure/forced_run.h"

namespace windrow::engine {
namespace {

// Of a text that comes in any case so much is looked at; what is longer comes in pieces.
constexpr size_t kForcedBytesMax = 1024;

}  // namespace

// Outputs whose masks are not there in time go: their rows keep the logits.
void StepLoop::take_masks(std::vector<Output>& outputs) {
  const auto is_sampled = [&](const Output& output) {
    return output.row->mask && !output.row->ending &&
           output.position + 1 == static_cast<Position>(output.row->tokens.size());
  };
  std::vector<std::shared_ptr<WantedMask>> wanted;
  for (const Output& output : outputs) {
    if (is_sampled(output)) wanted.push_back(output.row->mask);
  }
  if (wanted.empty()) return;
  mask_filler_.wait(wanted);
  std::erase_if(outputs, [&](Output& output) {
    if (!is_sampled(output)) return false;
    output.mask = mask_filler_.mask(*output.row->mask);
    if (output.mask) return false;
    rows_.at(output.id).kept_logits.assign(output.logits.begin(), output.logits.end());
    kept_.push_back(output.id);
    return true;
  });
}

// Rows that sat out and whose masks are there now.
void StepLoop::sample_kept() {
  for (const RowId id : std::exchange(kept_, {})) {
    const auto found = rows_.find(id);
    if (found == rows_.end()) continue;
    Row& row = found->second;
    auto mask = mask_filler_.mask(*row.mask);
    if (!mask) {
      kept_.push_back(id);
      continue;
    }
    const std::vector<float> logits = std::exchange(row.kept_logits, {});
    Output output{.id = id,
                  .row = &row,
                  .position = static_cast<Position>(row.tokens.size()) - 1,
                  .logits = logits,
                  .mask = std::move(mask)};
    judge(output, samplers_.front());
    take(output);
    tell(id);
  }
}

void StepLoop::wait_for_kept() {
  std::vector<std::shared_ptr<WantedMask>> wanted;
  wanted.reserve(kept_.size());
  for (const RowId id : kept_)
    wanted.push_back(rows_.at(id).mask);
  mask_filler_.wait(wanted);
}

void StepLoop::want_mask(Row& row) {
  row.mask = row.guide->is_free() ? nullptr : mask_filler_.want(row.guide);
}

// Thoughts that have had their tokens end with the mark that the model would write.
std::optional<llm::FinishReason> StepLoop::close_thoughts(Row& row) {
  const std::string closing = row.guide->closing_text();
  if (closing.empty()) return std::nullopt;
  const std::vector<Token> tokens = vocabulary_.tokenize(closing, ControlTokens::kParsed);
  const auto ends = [&](Token token) { return vocabulary_.ends_answer(token); };
  if (std::ranges::any_of(tokens, ends)) return std::nullopt;
  for (const Token token : tokens) {
    ++forced_tokens_;
    if (const auto ended = say(row, token)) return ended;
  }
  return std::nullopt;
}

// What comes next in any case is said at once: text, and control tokens between.
std::optional<llm::FinishReason> StepLoop::say_forced(Row& row) {
  if (const auto ended = close_thoughts(row)) return ended;
  const AnswerForm& form = *row.request.form;
  if (!form.force) return std::nullopt;
  while (true) {
    const std::string text = row.guide->forced_text(kForcedBytesMax);
    const std::string_view plain =
        form.marks.empty() ? text
                           : std::string_view(text).substr(0, text.find(SpelledMarks::kSign));
    const bool mark_behind = plain.size() < text.size();
    std::vector<Token> tokens;
    if (plain.empty()) {
      const SpelledMarks::Mark* mark = form.marks.at_front(text);
      if (mark != nullptr) tokens = {mark->token};
    } else {
      tokens = forced_tokens(
          row.tokens,
          {.text = plain,
           .is_end = mark_behind || row.guide->ends_behind(text),
           .may_cross_end = [&](size_t at) { return row.guide->may_cross_end(text, at); }},
          vocabulary_, form.grammar->tables());
    }
    for (const Token token : tokens) {
      ++forced_tokens_;
      if (const auto ended = say(row, token)) return ended;
    }
    // At a mark a run ends whatever follows; there may be more of it.
    if (tokens.empty() || !mark_behind) return std::nullopt;
  }
}

}  // namespace windrow::engine
