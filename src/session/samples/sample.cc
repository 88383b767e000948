#include "session/samples/sample.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <ranges>
#include <unordered_map>
#include <utility>

#include "session/samples/answer_span.h"

namespace windrow::session {
namespace {

// Tokens that an answer may lose because the template writes its end otherwise.
constexpr size_t kTrimmedMax = 1;

SampleStatus status_of(std::string_view finish_reason) {
  if (finish_reason == "stop" || finish_reason == "tool_calls") return SampleStatus::kCompleted;
  if (finish_reason == "length") return SampleStatus::kTruncated;
  if (finish_reason == "abort") return SampleStatus::kAborted;
  return SampleStatus::kPending;
}

llm::Failure cannot(size_t turn, std::string_view why) {
  return {.status = 422,
          .code = "cannot_assemble",
          .message = fmt::format("turn {}: {}", turn + 1, why)};
}

// The rows of one kind in a conversation.
struct RowsFound {
  size_t covered = 0;
  std::optional<size_t>
      other_width_at;  // the first turn whose rows are not as long as those before
  size_t width = 0;    // of the rows before it
};

RowsFound rows_in(const TurnPath& path, RowKind kind) {
  RowsFound found{.covered = path.rows_covered(kind), .width = path.values_per_row(kind)};
  for (size_t turn = 0; turn < path.turns().size(); ++turn) {
    const TokenRows* rows = path.turns()[turn]->rows_of(kind);
    if (rows == nullptr || rows->values_per_row == found.width) continue;
    found.other_width_at = turn;
    break;
  }
  return found;
}

// Turns of one conversation that stay within tokens_max.
struct KeptTurns {
  size_t count = 0;
  std::optional<size_t> cut_at;  // the last one loses what is behind this token

  bool cuts(size_t turn) const { return cut_at && turn + 1 == count; }
};

KeptTurns within(const TurnPath& path, std::optional<size_t> tokens_max) {
  for (size_t turn = 0; turn < path.turns().size(); ++turn) {
    const AnswerSpan answer = answer_span(path, turn);
    if (!tokens_max || answer.end <= *tokens_max) continue;
    if (answer.begin >= *tokens_max) return {turn, std::nullopt};
    return {turn + 1, *tokens_max};
  }
  return {path.turns().size(), std::nullopt};
}

// Makes the samples of one conversation.
class Assembler {
 public:
  Assembler(const TurnPath& path, size_t conversation, const SampleRules& rules,
            const llm::Tokenizer& tokenizer)
      : path_(path),
        conversation_(conversation),
        tokenizer_(tokenizer),
        kept_(within(path, rules.tokens_max)) {
    for (size_t kind = 0; kind < kRowKinds; ++kind)
      rows_[kind] = rows_in(path, static_cast<RowKind>(kind));
  }

  // What is wrong with a turn, whether it is kept or not.
  std::optional<llm::Failure> check() const {
    for (size_t turn = 0; turn < path_.turns().size(); ++turn) {
      const Turn& at = *path_.turns()[turn];
      if (at.logprobs.size() != at.sampled.size()) {
        return cannot(turn, fmt::format("rollout_log_probs length ({}) != response_length ({})",
                                        at.logprobs.size(), at.sampled.size()));
      }
      if (std::optional<std::string> why = trim_error(turn)) return cannot(turn, *why);
    }
    return std::nullopt;
  }

  size_t kept() const { return kept_.count; }

  // The conversation in one; there is a turn. `masked`: in order.
  std::variant<Sample, llm::Failure> merge(std::vector<size_t> masked) const {
    size_t last = 0;
    while (last + 1 < kept_.count && status(last) == SampleStatus::kCompleted && rows_go_on(last))
      ++last;
    std::erase_if(masked, [last](size_t turn) { return turn > last; });
    Sample sample = begin_sample(0, last);
    sample.masked_turns = std::move(masked);
    if (last > 0) {
      boost::json::array turns;
      for (size_t turn = 0; turn <= last; ++turn)
        turns.push_back(lifecycle(turn));
      sample.metadata["lifecycle"] = std::move(turns);
    } else {
      sample.metadata["lifecycle"] = lifecycle(0);
    }
    return with_rows(std::move(sample), last);
  }

  // One turn.
  std::variant<Sample, llm::Failure> apart(size_t turn) const {
    Sample sample = begin_sample(turn, turn);
    sample.metadata["lifecycle"] = lifecycle(turn);
    return with_rows(std::move(sample), turn);
  }

 private:
  SampleStatus status(size_t turn) const {
    if (kept_.cuts(turn)) return SampleStatus::kTruncated;
    return status_of(path_.turns()[turn]->finish_reason);
  }

  AnswerSpan answer(size_t turn) const {
    AnswerSpan span = answer_span(path_, turn);
    if (kept_.cuts(turn)) span.end = *kept_.cut_at;
    return span;
  }

  std::optional<std::string> trim_error(size_t turn) const {
    if (turn + 1 == path_.turns().size()) return std::nullopt;
    const AnswerSpan span = answer_span(path_, turn);
    const size_t kept = path_.turns()[turn + 1]->kept_tokens;
    if (kept < span.begin)
      return fmt::format("the next turn keeps {} of its {} prompt tokens", kept, span.begin);
    const size_t lost = path_.tokens_after(turn) - span.end;
    if (lost <= kTrimmedMax) return std::nullopt;
    const std::vector<int32_t>& sampled = path_.turns()[turn]->sampled;
    const auto sampled_last = std::span(sampled).last(std::min<size_t>(3, sampled.size()));
    std::vector<int32_t> kept_first;
    path_.append_tokens(span.begin, std::min<size_t>(3, path_.tokens() - span.begin), kept_first);
    // As the trainers' reference server says it.
    return fmt::format(
        "trim_count {} exceeds allowed={} (is_last=False, max_trim_tokens={}); "
        "output_ids[-3:]=[{}], accumulated[cursor:cursor+3]=[{}]",
        lost, kTrimmedMax, kTrimmedMax, fmt::join(sampled_last, ", "), fmt::join(kept_first, ", "));
  }

  // Whether the turn behind `turn` has the rows that `turn` has.
  bool rows_go_on(size_t turn) const {
    for (size_t kind = 0; kind < kRowKinds; ++kind)
      if (path_.turns()[turn]->rows[kind] && !path_.turns()[turn + 1]->rows[kind]) return false;
    return true;
  }

  // What the sample of turns [first, last] has, but for rows and metadata.
  Sample begin_sample(size_t first, size_t last) const {
    Sample sample{.path = path_,
                  .turns = last + 1,
                  .tokens = answer(last).end,
                  .conversation = conversation_,
                  .response_begin = answer(first).begin,
                  .status = status(last)};
    std::string& text = sample.response;
    for (size_t turn = first; turn <= last; ++turn) {
      const Turn& at = *path_.turns()[turn];
      const AnswerSpan span = answer(turn);
      // Text is decoded piece by piece, so that an answer cut within a character does not change
      // what is behind it.
      if (turn > first) {
        const std::span<const int32_t> prompt = at.prompt;
        text += llm::text_of(tokenizer_, prompt.last(span.begin - answer(turn - 1).end));
      }
      text += llm::text_of(tokenizer_, std::span(at.sampled).first(span.size()));
      if (!at.figures.weight_version.empty())
        sample.weight_versions.push_back(at.figures.weight_version);
      sample.cached_tokens += at.figures.cached_tokens;
      sample.prompt_tokens += at.figures.prompt_tokens;
    }
    return sample;
  }

  std::variant<Sample, llm::Failure> with_rows(Sample sample, size_t last) const {
    for (size_t i = 0; i < kRowKinds; ++i) {
      const auto kind = static_cast<RowKind>(i);
      sample.has_rows[i] = path_.turns()[last]->rows_of(kind) != nullptr;
      if (!sample.has_rows[i]) continue;
      const RowsFound& found = rows_[i];
      if (found.other_width_at && *found.other_width_at <= last) {
        return cannot(
            *found.other_width_at,
            fmt::format("{} have {} numbers a token, and those of the turns before have {}",
                        to_string(kind),
                        path_.turns()[*found.other_width_at]->rows_of(kind)->values_per_row,
                        found.width));
      }
      if (found.covered >= sample.rows()) continue;
      size_t turn = 0;  // the first one that is not covered
      while (turn < last && answer(turn).end <= found.covered + 1)
        ++turn;
      return cannot(turn, fmt::format("{} cover {} of the {} tokens that have a row; the rest were "
                                      "not in the replies of the model's server",
                                      to_string(kind), found.covered, sample.rows()));
    }
    return sample;
  }

  boost::json::object lifecycle(size_t turn) const {
    const Turn& at = *path_.turns()[turn];
    boost::json::object life;
    if (at.figures.latency_s) {
      life["t0"] = at.answered_at_unix_s - *at.figures.latency_s;
    } else {
      life["t0"] = nullptr;
    }
    life["t1"] = at.answered_at_unix_s;
    life["turn"] = static_cast<int64_t>(turn) + 1;
    if (at.asked_at_unix_s != 0) life["req_ts"] = at.asked_at_unix_s;
    if (turn > 0) life["prev_t1"] = path_.turns()[turn - 1]->answered_at_unix_s;
    return life;
  }

  const TurnPath& path_;
  const size_t conversation_;
  const llm::Tokenizer& tokenizer_;
  const KeptTurns kept_;
  RowsFound rows_[kRowKinds];
};

// For each turn the conversation that trains on it, by that one's last turn.
using Owners = std::unordered_map<TurnId, TurnId>;

Owners owners_of(std::span<const TurnPath> paths) {
  Owners owners;
  for (const TurnPath& path : paths) {
    for (const TurnPtr& turn : path.turns()) {
      TurnId& owner = owners.try_emplace(turn->id, path.last().id).first->second;
      owner = std::min(owner, path.last().id);
    }
  }
  return owners;
}

// The turns of a conversation that another one trains on.
std::vector<size_t> masked_turns(const TurnPath& path, const Owners& owners) {
  std::vector<size_t> masked;
  if (owners.empty()) return masked;
  for (size_t turn = 0; turn < path.turns().size(); ++turn)
    if (owners.at(path.turns()[turn]->id) != path.last().id) masked.push_back(turn);
  return masked;
}

// Calls visit(turn, first, end) with the parts of answers within [begin, end) of the sample's path.
template <class Visit>
void for_answers(const Sample& sample, size_t begin, size_t end, const Visit& visit) {
  const size_t turns = sample.path.turns().size();
  const auto indexes = std::views::iota(size_t{0}, turns);
  const auto first = std::ranges::partition_point(
      indexes, [&](size_t turn) { return answer_span(sample.path, turn).end <= begin; });
  for (auto turn = static_cast<size_t>(first - indexes.begin()); turn < turns; ++turn) {
    const AnswerSpan answer = answer_span(sample.path, turn);
    if (answer.begin >= end) return;
    const size_t from = std::max(answer.begin, begin);
    const size_t to = std::min(answer.end, end);
    if (from < to) visit(turn, from, to);
  }
}

}  // namespace

std::string_view to_string(SampleStatus status) {
  switch (status) {
    case SampleStatus::kPending:
      return "pending";
    case SampleStatus::kCompleted:
      return "completed";
    case SampleStatus::kTruncated:
      return "truncated";
    case SampleStatus::kAborted:
      return "aborted";
    case SampleStatus::kFailed:
      return "failed";
  }
  return "";
}

std::string_view to_string(EmptyReason reason) {
  return reason == EmptyReason::kNoRecords ? "no_records" : "all_truncated";
}

void Sample::append_mask(size_t first, size_t count, std::string& bytes) const {
  const size_t begin = response_begin + first;
  const size_t at = bytes.size();
  bytes.append(count, '\0');
  for_answers(*this, begin, begin + count, [&](size_t turn, size_t from, size_t to) {
    if (std::ranges::binary_search(masked_turns, turn)) return;
    std::fill_n(bytes.begin() + static_cast<ptrdiff_t>(at + from - begin), to - from, '\1');
  });
}

void Sample::append_logprobs(size_t first, size_t count, std::vector<double>& values) const {
  const size_t begin = response_begin + first;
  const size_t at = values.size();
  values.resize(at + count, 0.0);
  for_answers(*this, begin, begin + count, [&](size_t turn, size_t from, size_t to) {
    const std::span<const double> logprobs = path.turns()[turn]->logprobs;
    std::ranges::copy(logprobs.subspan(from - path.tokens_before(turn), to - from),
                      values.begin() + static_cast<ptrdiff_t>(at + from - begin));
  });
}

std::variant<Samples, llm::Failure> assemble(std::span<const TurnPath> paths,
                                             const SampleRules& rules,
                                             const llm::Tokenizer& tokenizer) {
  Samples result;
  const Owners owners = paths.size() > 1 ? owners_of(paths) : Owners();
  bool has_turns = false;
  for (size_t i = 0; i < paths.size(); ++i) {
    const Assembler assembler(paths[i], i, rules, tokenizer);
    has_turns = has_turns || !paths[i].empty();
    if (std::optional<llm::Failure> failure = assembler.check()) return *failure;
    if (assembler.kept() == 0) continue;
    std::vector<size_t> masked = masked_turns(paths[i], owners);
    if (!rules.turns_apart) {
      auto sample = assembler.merge(std::move(masked));
      if (auto* failure = std::get_if<llm::Failure>(&sample)) return std::move(*failure);
      result.samples.push_back(std::get<Sample>(std::move(sample)));
      continue;
    }
    for (size_t turn = 0; turn < assembler.kept(); ++turn) {
      if (std::ranges::binary_search(masked, turn)) continue;
      auto sample = assembler.apart(turn);
      if (auto* failure = std::get_if<llm::Failure>(&sample)) return std::move(*failure);
      result.samples.push_back(std::get<Sample>(std::move(sample)));
    }
  }
  if (result.samples.empty())
    result.empty = has_turns ? EmptyReason::kAllTruncated : EmptyReason::kNoRecords;
  return result;
}

}  // namespace windrow::session
