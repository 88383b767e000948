// /v1/completions of vLLM with token ids: one object, or events with the tokens since the event
// before. Rows come in replies that are not streamed: as one array of all tokens, or, in versions
// of spring 2026, as `prompt_routed_experts` of the prompt's and `routed_experts` of the sampled
// ones.
#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/value.hpp>
#include <charconv>
#include <utility>

#include "json/values.h"
#include "session/replies/reply_fields.h"
#include "session/replies/reply_reader.h"

namespace windrow::session {

namespace {

constexpr std::string_view kPromptRows = "prompt_routed_experts";
constexpr std::string_view kSampledRows = "routed_experts";

const boost::json::array* list_in(const boost::json::object& object, std::string_view name) {
  const boost::json::value* value = object.if_contains(name);
  return value == nullptr ? nullptr : value->if_array();
}

// "token_id:17", as servers write tokens that are asked for as ids.
bool read_token_texts(const boost::json::array& list, std::vector<int32_t>& tokens) {
  constexpr std::string_view kPrefix = "token_id:";
  for (const boost::json::value& element : list) {
    const boost::json::string* text = element.if_string();
    if (text == nullptr || !std::string_view(*text).starts_with(kPrefix)) return false;
    int32_t token = 0;
    const char* end = text->data() + text->size();
    const auto [rest, error] = std::from_chars(text->data() + kPrefix.size(), end, token);
    if (error != std::errc() || rest != end || token < 0) return false;
    tokens.push_back(token);
  }
  return true;
}

class VllmCompletionReader final : public ReplyReader {
 public:
  using ReplyReader::ReplyReader;

 private:
  std::vector<BlobScanner::Blob> blobs() override {
    std::vector<BlobScanner::Blob> blobs = ReplyReader::blobs();
    const WantedRows& rows = wanted(RowKind::kRoutedExperts);
    if (rows.wanted && (prompt_rows_ == nullptr || !prompt_rows_->is_unused())) {
      prompt_rows_ =
          std::make_unique<RowsSink>([held = held_numbers(rows)](RowsSink::Form) { return held; });
    }
    blobs.push_back({kPromptRows, prompt_rows_.get()});
    return blobs;
  }

  // The rows of the sampled tokens alone are all new. Lists may be them or rows of all tokens,
  // which is known at the end.
  uint64_t numbers_to_skip(RowKind kind, RowsSink::Form form) const override {
    const bool is_apart = prompt_rows_ != nullptr && prompt_rows_->has_numbers();
    if (form == RowsSink::Form::kLists || is_apart) return 0;
    return ReplyReader::numbers_to_skip(kind, form);
  }

  std::string why_refused() const override {
    if (prompt_rows_ != nullptr && !prompt_rows_->wrong().empty())
      return fmt::format("{}: {}", kPromptRows, prompt_rows_->wrong());
    return ReplyReader::why_refused();
  }

  bool on_object(boost::json::object object) override {
    ++objects_;
    if (!check_error(object)) return false;
    if (const boost::json::object* choice = first_choice(object)) {
      if (!check_rows_were_read(*choice, RowKind::kRoutedExperts, kSampledRows) ||
          !check_rows_were_read(object, RowKind::kRoutedExperts, kPromptRows) ||
          !read_choice(*choice))
        return false;
    } else if (!options().streamed) {
      return fail("the reply has no choice");
    }
    object.erase("choices");
    object.erase(kPromptRows);
    for (auto& member : object) {
      if (!member.value().is_null()) reply().members[member.key()] = std::move(member.value());
    }
    return true;
  }

  bool on_end() override {
    if (!is_finished_) {
      return fail(fmt::format("the reply ends without a finish_reason, after {} tokens in {} {}",
                              reply().tokens.size(), objects_,
                              options().streamed ? "events" : "object"));
    }
    if (const auto* usage = object_in(reply().members, "usage")) {
      const int64_t told = number_in(*usage, "completion_tokens", -1);
      if (told >= 0 && static_cast<uint64_t>(told) != reply().tokens.size()) {
        return fail(fmt::format("the reply has {} token ids, and usage.completion_tokens {}",
                                reply().tokens.size(), told));
      }
      reply().figures.prompt_tokens = number_in(*usage, "prompt_tokens");
      if (const auto* details = object_in(*usage, "prompt_tokens_details"))
        reply().figures.cached_tokens = number_in(*details, "cached_tokens");
    }
    if (prompt_rows_ != nullptr && prompt_rows_->has_numbers()) return join_rows();
    return take_rows(RowKind::kRoutedExperts);
  }

  // The object that was read last, for messages.
  std::string place() const {
    return options().streamed ? fmt::format("event {} of the reply", objects_) : "the reply";
  }

  bool read_choice(const boost::json::object& choice) {
    if (const auto* prompt = list_in(choice, "prompt_token_ids");
        prompt != nullptr && prompt->size() != options().prompt_tokens) {
      return fail(fmt::format("{} has {} prompt_token_ids where {} tokens were sent", place(),
                              prompt->size(), options().prompt_tokens));
    }
    std::vector<int32_t> tokens;
    std::vector<double> logprobs;
    const auto* scores = object_in(choice, "logprobs");
    if (!read_ids(choice, scores, tokens)) return false;
    const auto* listed = scores == nullptr ? nullptr : list_in(*scores, "token_logprobs");
    if (listed == nullptr && !tokens.empty()) {
      return fail(fmt::format(
          "{} has {} tokens and no logprobs.token_logprobs: does the server take `logprobs`?",
          place(), tokens.size()));
    }
    std::string wrong;
    if (listed != nullptr && !read_logprobs(*listed, "token_logprobs", logprobs, wrong))
      return fail(fmt::format("{}: {}", place(), wrong));
    if (tokens.size() != logprobs.size()) {
      return fail(fmt::format("{} has {} tokens and {} log-probabilities", place(), tokens.size(),
                              logprobs.size()));
    }
    if (const std::string_view reason = text_in(choice, "finish_reason"); !reason.empty()) {
      is_finished_ = true;
      reply().finish_reason = std::string(reason);
    }
    add_tokens(std::move(tokens), logprobs);
    return true;
  }

  bool read_ids(const boost::json::object& choice, const boost::json::object* scores,
                std::vector<int32_t>& tokens) {
    std::string wrong;
    if (const auto* ids = list_in(choice, "token_ids")) {
      return read_tokens(*ids, "token_ids", tokens, wrong) ||
             fail(fmt::format("{}: {}", place(), wrong));
    }
    const auto* texts = scores == nullptr ? nullptr : list_in(*scores, "tokens");
    if (texts != nullptr && read_token_texts(*texts, tokens)) return true;
    // The last event of a stream may have neither text nor tokens.
    if (options().streamed && texts == nullptr && text_in(choice, "text").empty()) return true;
    return fail(fmt::format(
        "{} has no token ids: vLLM from 0.10.2 on sends them when return_token_ids is asked for",
        place()));
  }

  // The rows of the prompt's tokens, then those of the sampled ones but the last.
  bool join_rows() {
    RowsSink& prompt = *prompt_rows_;
    RowsSink& sampled = *sink(RowKind::kRoutedExperts);
    const WantedRows& rows = wanted(RowKind::kRoutedExperts);
    const size_t prompt_rows = options().prompt_tokens;
    const size_t sampled_rows = reply().tokens.empty() ? 0 : reply().tokens.size() - 1;
    const uint64_t sampled_numbers = sampled.has_numbers() ? sampled.numbers() : 0;
    const uint64_t values_per_row = prompt_rows == 0 ? 0 : prompt.numbers() / prompt_rows;
    const bool fits = values_per_row > 0 && prompt.numbers() == prompt_rows * values_per_row &&
                      sampled_numbers == sampled_rows * values_per_row &&
                      (rows.values_per_row == 0 || rows.values_per_row == values_per_row);
    if (!fits) {
      return fail(fmt::format(
          "prompt_routed_experts has {} numbers and routed_experts {}, which are not rows of {} "
          "prompt tokens and {} sampled ones, the last of which has none{}",
          prompt.numbers(), sampled_numbers, prompt_rows, reply().tokens.size(),
          rows.values_per_row == 0
              ? ""
              : fmt::format(", of {} numbers as the rows before them", rows.values_per_row)));
    }
    if (rows.reply_begins_at > 0 || (sampled.has_numbers() && sampled.skipped() > 0)) {
      return fail(
          "the reply has prompt_routed_experts behind routed_experts, which is no form of vLLM");
    }
    auto joined = std::make_shared<TokenRows>();
    joined->first_row = first_kept_row(rows);
    joined->values_per_row = values_per_row;
    joined->values = std::move(prompt.values());
    if (sampled.has_numbers()) append_from(sampled.values(), 0, joined->values);
    joined->values.shrink_to_fit();
    reply().rows[static_cast<size_t>(RowKind::kRoutedExperts)] = std::move(joined);
    return true;
  }

  uint64_t objects_ = 0;
  bool is_finished_ = false;
  std::unique_ptr<RowsSink> prompt_rows_;
};

}  // namespace

std::unique_ptr<TurnReader> make_vllm_completion_reader(TurnReaderOptions options) {
  return std::make_unique<VllmCompletionReader>(std::move(options));
}

}  // namespace windrow::session
