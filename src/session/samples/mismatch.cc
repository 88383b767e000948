#include "session/samples/mismatch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <variant>

namespace windrow::session {
namespace {

std::string_view without_space_behind(std::string_view text) {
  return text.substr(0, text.find_last_not_of(" \t\r\n") + 1);
}

struct Segment {
  size_t begin = 0;
  size_t end = 0;
  bool control = false;
};

// One side of the comparison.
class Side {
 public:
  Side(std::span<const int32_t> tokens, const llm::Tokenizer& tokenizer)
      : tokens_(tokens), tokenizer_(tokenizer) {
    drop_end();
    for (size_t i = 0; i < tokens_.size(); ++i) {
      const bool control = tokenizer.is_control(tokens_[i]);
      if (control || segments_.empty() || segments_.back().control) {
        segments_.push_back({i, i + 1, control});
      } else {
        segments_.back().end = i + 1;
      }
    }
  }

  const std::vector<Segment>& segments() const { return segments_; }

  std::span<const int32_t> tokens(size_t segment) const {
    return tokens_.subspan(segments_[segment].begin,
                           segments_[segment].end - segments_[segment].begin);
  }

  std::string text(size_t segment) const { return llm::text_of(tokenizer_, tokens(segment)); }

  // "[<|im_start|>] (3 tokens) [<|im_end|>]"
  std::string outline() const {
    std::string text;
    for (size_t i = 0; i < segments_.size(); ++i) {
      if (i > 0) text += ' ';
      const Segment& at = segments_[i];
      text += at.control ? fmt::format("[{}]", this->text(i))
                         : fmt::format("({} tokens)", at.end - at.begin);
    }
    return text;
  }

 private:
  // Leaves out control tokens and white space at the end.
  void drop_end() {
    std::string piece;
    while (!tokens_.empty()) {
      piece.clear();
      tokenizer_.append_piece(tokens_.back(), piece);
      if (!tokenizer_.is_control(tokens_.back()) && !without_space_behind(piece).empty()) return;
      tokens_ = tokens_.first(tokens_.size() - 1);
    }
  }

  std::span<const int32_t> tokens_;
  const llm::Tokenizer& tokenizer_;
  std::vector<Segment> segments_;
};

std::optional<Mismatch> compare_structure(const Side& expected, const Side& actual) {
  std::string detail;
  if (expected.segments().size() != actual.segments().size()) {
    detail = fmt::format("segment count differs: expected {}, got {}", expected.segments().size(),
                         actual.segments().size());
  } else if (!std::ranges::equal(expected.segments(), actual.segments(), {}, &Segment::control,
                                 &Segment::control)) {
    detail = "segment structure (special/content pattern) differs";
  } else {
    return std::nullopt;
  }
  return Mismatch{.kind = MismatchKind::kSpecialTokenCount,
                  .expected = expected.outline(),
                  .actual = actual.outline(),
                  .detail = std::move(detail)};
}

bool is_sampled(const Segment& segment, std::span<const AnswerSpan> sampled) {
  const auto answer = std::ranges::partition_point(
      sampled, [&](const AnswerSpan& span) { return span.end <= segment.begin; });
  return answer != sampled.end() && answer->begin < segment.end;
}

}  // namespace

std::string_view to_string(MismatchKind kind) {
  switch (kind) {
    case MismatchKind::kSpecialTokenCount:
      return "special_token_count";
    case MismatchKind::kSpecialTokenType:
      return "special_token_type";
    case MismatchKind::kNonAssistantText:
      return "non_assistant_text";
    case MismatchKind::kAssistantText:
      return "assistant_text";
  }
  return "";
}

std::vector<Mismatch> compare_tokens(std::span<const int32_t> expected,
                                     std::span<const int32_t> actual,
                                     std::span<const AnswerSpan> sampled,
                                     const llm::Tokenizer& tokenizer) {
  const Side wanted(expected, tokenizer);
  const Side had(actual, tokenizer);
  if (std::optional<Mismatch> structure = compare_structure(wanted, had))
    return {std::move(*structure)};

  std::vector<Mismatch> found;
  const size_t segments = had.segments().size();
  for (size_t i = 0; i < segments; ++i) {
    if (std::ranges::equal(wanted.tokens(i), had.tokens(i))) continue;
    const Segment& segment = had.segments()[i];
    std::string expected_text = wanted.text(i);
    std::string actual_text = had.text(i);
    if (!segment.control && expected_text == actual_text) continue;
    if (!segment.control && i + 1 == segments &&
        without_space_behind(expected_text) == without_space_behind(actual_text)) {
      continue;
    }
    MismatchKind kind = MismatchKind::kNonAssistantText;
    if (segment.control) {
      kind = MismatchKind::kSpecialTokenType;
    } else if (is_sampled(segment, sampled)) {
      kind = MismatchKind::kAssistantText;
    }
    found.push_back({.kind = kind,
                     .segment = static_cast<int64_t>(i),
                     .expected = std::move(expected_text),
                     .actual = std::move(actual_text),
                     .detail = {}});
  }
  return found;
}

std::optional<std::vector<Mismatch>> find_mismatches(const TurnPath& conversation,
                                                     const llm::Chat& chat,
                                                     const llm::Tokenizer& tokenizer) {
  if (conversation.empty()) return std::nullopt;
  const auto rendered = tokenizer.render(chat, false);
  const auto* expected = std::get_if<llm::RenderedChat>(&rendered);
  if (expected == nullptr) return std::nullopt;
  std::vector<AnswerSpan> sampled;
  for (size_t turn = 0; turn < conversation.turns().size(); ++turn)
    sampled.push_back(answer_span(conversation, turn));
  return compare_tokens(expected->tokens, conversation.all_tokens(), sampled, tokenizer);
}

boost::json::array to_json(std::span<const Mismatch> mismatches) {
  boost::json::array all;
  for (const Mismatch& mismatch : mismatches) {
    boost::json::object one;
    one["type"] = to_string(mismatch.kind);
    one["segment_index"] = mismatch.segment;
    one["expected_text"] = mismatch.expected;
    one["actual_text"] = mismatch.actual;
    one["detail"] = mismatch.detail;
    all.push_back(std::move(one));
  }
  return all;
}

}  // namespace windrow::session
