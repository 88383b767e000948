// /v1/chat/completions of SGLang, with input_ids and return_meta_info. The three texts about a
// reply that cannot be used are those of the trainers' reference server.
#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>
#include <utility>

#include "json/values.h"
#include "session/replies/reply_fields.h"
#include "session/replies/reply_reader.h"

namespace windrow::session {

namespace {

constexpr std::string_view kNoMetaInfo =
    "meta_info and output_token_logprobs must be in choice (requires logprobs=True)";
constexpr std::string_view kNoContent =
    "assistant message content is None, when tool call parser failed SGLang should still return an "
    "empty content rather than None. Please check your modified SGLang version.";

// Clients never get what blobs left behind.
void remove_row_members(boost::json::object& object) {
  for (const RowKind kind : {RowKind::kRoutedExperts, RowKind::kIndexerTopk}) {
    if (auto* member = object.find(to_string(kind)); member != object.end())
      object.stable_erase(member);
  }
}

void remove_row_members_of_chat(boost::json::object& chat) {
  if (boost::json::value* choices = chat.if_contains("choices");
      choices != nullptr && choices->is_array()) {
    for (boost::json::value& choice : choices->get_array()) {
      if (!choice.is_object()) continue;
      boost::json::value* meta_info = choice.get_object().if_contains("meta_info");
      if (meta_info != nullptr && meta_info->is_object())
        remove_row_members(meta_info->get_object());
    }
  }
  auto* extra = chat.find("sglext");
  if (extra == chat.end() || !extra->value().is_object()) return;
  boost::json::object& object = extra->value().get_object();
  const bool was_empty = object.empty();
  remove_row_members(object);
  if (object.empty() && !was_empty) chat.stable_erase(extra);
}

class SglangChatReader final : public ReplyReader {
 public:
  using ReplyReader::ReplyReader;

 private:
  bool on_object(boost::json::object object) override {
    chat_ = std::move(object);
    return true;
  }

  bool on_end() override {
    if (!check_error(chat_)) return false;
    if (const auto* choices = chat_.if_contains("choices");
        choices != nullptr && (!choices->is_array() || choices->get_array().empty()))
      return fail("the reply has no choice: `choices` is " + std::string(kind_name(*choices)));
    const boost::json::object* choice = first_choice(chat_);
    const auto* meta_info = choice == nullptr ? nullptr : object_in(*choice, "meta_info");
    const auto* listed =
        meta_info == nullptr ? nullptr : meta_info->if_contains("output_token_logprobs");
    if (listed == nullptr) return fail(std::string(kNoMetaInfo));
    const auto* message = object_in(*choice, "message");
    const auto* content = message == nullptr ? nullptr : message->if_contains("content");
    if (content == nullptr || content->is_null()) return fail(std::string(kNoContent));
    if (!listed->is_array()) {
      return fail(fmt::format("meta_info.output_token_logprobs of the reply is {}, not a list",
                              kind_name(*listed)));
    }
    if (!read_sampled(*meta_info, listed->get_array())) return false;
    reply().finish_reason = std::string(text_in(*choice, "finish_reason"));
    reply().figures = sglang_figures(*meta_info);
    for (const RowKind kind : {RowKind::kRoutedExperts, RowKind::kIndexerTopk}) {
      if (!check_rows_were_read(*meta_info, kind, to_string(kind))) return false;
    }
    if (!take_rows(RowKind::kRoutedExperts) || !take_rows(RowKind::kIndexerTopk)) return false;
    remove_row_members_of_chat(chat_);
    reply().chat = std::move(chat_);
    return true;
  }

  bool read_sampled(const boost::json::object& meta_info, const boost::json::array& listed) {
    const int64_t completion_tokens = number_in(meta_info, "completion_tokens", -1);
    if (completion_tokens < 0)
      return fail("meta_info of the reply has no number of completion_tokens");
    if (listed.size() != static_cast<uint64_t>(completion_tokens)) {
      return fail(fmt::format(
          "invalid chat completion response: len(output_token_logprobs)={} != "
          "completion_tokens={}. Please check whether you use the correct SGLang branch which has "
          "fix the tokenizer batch decode issue.",
          listed.size(), completion_tokens));
    }
    std::string wrong;
    if (!read_token_logprobs(listed, reply().tokens, reply().logprobs, wrong))
      return fail("meta_info of the reply: " + wrong);
    return true;
  }

  boost::json::object chat_;
};

}  // namespace

std::unique_ptr<TurnReader> make_sglang_chat_reader(TurnReaderOptions options) {
  return std::make_unique<SglangChatReader>(std::move(options));
}

}  // namespace windrow::session
