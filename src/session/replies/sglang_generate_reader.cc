// /generate of SGLang: one object, or events. By the server's flag an event has either all tokens
// so far or those since the event before it; meta_info.completion_tokens, which counts all, tells
// which.
#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <utility>

#include "json/values.h"
#include "session/replies/reply_fields.h"
#include "session/replies/reply_reader.h"

namespace windrow::session {

namespace {

class SglangGenerateReader final : public ReplyReader {
 public:
  using ReplyReader::ReplyReader;

 private:
  bool on_object(boost::json::object object) override {
    ++objects_;
    if (!check_error(object)) return false;
    boost::json::value* found = object.if_contains("meta_info");
    if (found == nullptr || !found->is_object())
      return fail(fmt::format("{} has no meta_info", place()));
    boost::json::object& meta_info = found->get_object();
    if (!read_sampled(object, meta_info)) return false;
    const auto* finish = meta_info.if_contains("finish_reason");
    is_finished_ = finish != nullptr && !finish->is_null();
    if (is_finished_ && !read_finish(*finish)) return false;
    for (const RowKind kind : {RowKind::kRoutedExperts, RowKind::kIndexerTopk}) {
      if (!check_rows_were_read(meta_info, kind, to_string(kind))) return false;
    }
    erase_token_lists(meta_info);
    meta_info_ = std::move(meta_info);
    return true;
  }

  bool on_end() override {
    if (!is_finished_) {
      return fail(fmt::format(
          "the reply ends without a finish_reason in meta_info, after {} tokens in {} {}",
          reply().tokens.size(), objects_, options().streamed ? "events" : "object"));
    }
    reply().figures = sglang_figures(meta_info_);
    if (!take_rows(RowKind::kRoutedExperts) || !take_rows(RowKind::kIndexerTopk)) return false;
    reply().members.emplace("meta_info", std::move(meta_info_));
    return true;
  }

  // The object that was read last, for messages.
  std::string place() const {
    return options().streamed ? fmt::format("event {} of the reply", objects_) : "the reply";
  }

  bool read_finish(const boost::json::value& finish) {
    // An object with a type; a text in old versions.
    if (const auto* object = finish.if_object()) {
      reply().finish_reason = std::string(text_in(*object, "type"));
    } else if (const auto* text = finish.if_string()) {
      reply().finish_reason = std::string(text->begin(), text->end());
    }
    if (!reply().finish_reason.empty()) return true;
    return fail(fmt::format("{} has a finish_reason without a type: {}", place(),
                            boost::json::serialize(finish)));
  }

  bool read_sampled(const boost::json::object& object, const boost::json::object& meta_info) {
    std::vector<int32_t> ids;
    std::vector<int32_t> tokens;
    std::vector<double> logprobs;
    std::string wrong;
    const boost::json::value* listed = meta_info.if_contains("output_token_logprobs");
    const bool has_logprobs = listed != nullptr && listed->is_array();
    if (has_logprobs && !read_token_logprobs(listed->get_array(), tokens, logprobs, wrong))
      return fail(fmt::format("{}: {}", place(), wrong));
    const boost::json::value* output_ids = object.if_contains("output_ids");
    const bool has_ids = output_ids != nullptr && output_ids->is_array();
    if (has_ids && !read_tokens(output_ids->get_array(), "output_ids", ids, wrong))
      return fail(fmt::format("{}: {}", place(), wrong));
    const int64_t total = number_in(meta_info, "completion_tokens", -1);
    if (total < 0) return fail(place() + " has no number of completion_tokens in meta_info");
    if (!has_ids && !has_logprobs && total > 0) {
      return fail(fmt::format("{} has neither output_ids nor output_token_logprobs, and {} tokens",
                              place(), total));
    }
    if (has_ids && !has_logprobs && !ids.empty()) {
      return fail(fmt::format(
          "{} has {} output_ids and no output_token_logprobs in meta_info: was return_logprob "
          "sent, and does a proxy remove them?",
          place(), ids.size()));
    }
    if (has_ids && ids.size() != tokens.size()) {
      return fail(fmt::format("{} has {} output_ids and {} output_token_logprobs", place(),
                              ids.size(), tokens.size()));
    }
    if (has_ids && ids != tokens) {
      const auto at = std::mismatch(ids.begin(), ids.end(), tokens.begin()).first - ids.begin();
      return fail(fmt::format("{}: output_ids has token {} at {}, output_token_logprobs has {}",
                              place(), ids[static_cast<size_t>(at)], at,
                              tokens[static_cast<size_t>(at)]));
    }
    return add_sampled(std::move(tokens), std::move(logprobs), static_cast<uint64_t>(total));
  }

  bool add_sampled(std::vector<int32_t> tokens, std::vector<double> logprobs, uint64_t total) {
    const std::vector<int32_t>& known = reply().tokens;
    const bool has_all = tokens.size() == total;
    if (!has_all && known.size() + tokens.size() != total) {
      return fail(fmt::format("{} has {} tokens behind {} earlier ones, and completion_tokens {}",
                              place(), tokens.size(), known.size(), total));
    }
    if (has_all) {
      if (tokens.size() < known.size() || !std::equal(known.begin(), known.end(), tokens.begin())) {
        return fail(
            fmt::format("{} has {} tokens, which do not begin with the {} of those before it",
                        place(), tokens.size(), known.size()));
      }
      const auto count = static_cast<std::ptrdiff_t>(known.size());
      tokens.erase(tokens.begin(), tokens.begin() + count);
      logprobs.erase(logprobs.begin(), logprobs.begin() + count);
    }
    add_tokens(std::move(tokens), logprobs);
    return true;
  }

  uint64_t objects_ = 0;
  bool is_finished_ = false;
  boost::json::object meta_info_;  // of the last object, without what is as long as the tokens
};

}  // namespace

std::unique_ptr<TurnReader> make_sglang_generate_reader(TurnReaderOptions options) {
  return std::make_unique<SglangGenerateReader>(std::move(options));
}

}  // namespace windrow::session
