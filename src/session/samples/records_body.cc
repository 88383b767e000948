#include "session/samples/records_body.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "base/ensure.h"
#include "base/text_encoding.h"
#include "json/members.h"
#include "json/writer.h"

namespace windrow::session {
namespace {

static_assert(std::endian::native == std::endian::little);

// Characters that an element takes about.
constexpr size_t kTokenText = 7;
constexpr size_t kLogprobText = 36;

std::vector<JsonMember> members_of(const std::shared_ptr<const std::string>& object) {
  return object ? json_members(*object) : std::vector<JsonMember>{};
}

bool is_one_of(std::string_view key, std::initializer_list<std::string_view> names) {
  return std::ranges::any_of(names, [&](std::string_view name) { return json_key_is(key, name); });
}

// Each with a comma behind it.
void append_members(const std::vector<JsonMember>& members,
                    std::initializer_list<std::string_view> left_out, std::string& text) {
  for (const JsonMember& member : members)
    if (!is_one_of(member.key, left_out)) append_format(text, "{}:{},", member.key, member.value);
}

void append_number(int64_t number, std::string& text) {
  std::array<char, 24> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  text.append(digits.data(), end);
}

// A piece of a record. Lists are made an element at a time: `count` of them.
struct Part {
  enum class Content : uint8_t { kText, kMessages, kTokens, kLogprobs, kRows };
  Content content = Content::kText;
  std::string text;                        // kText
  RowKind kind = RowKind::kRoutedExperts;  // kRows
  size_t first = 0;                        // kRows: the first one
  size_t count = 0;
};

Part text_part(std::string text) {
  const size_t size = text.size();
  return {.content = Part::Content::kText, .text = std::move(text), .count = size};
}

std::string request_head(const Turn& turn) {
  std::string text = R"({"timestamp":)";
  append_json(turn.answered_at_unix_s, text);
  text += R"(,"request_timestamp":)";
  if (turn.asked_at_unix_s > 0) append_json(turn.asked_at_unix_s, text);
  if (turn.asked_at_unix_s <= 0) text += "null";
  text += R"(,"method":"POST","path":"/v1/chat/completions","request":{)";
  const std::vector<JsonMember> members = members_of(turn.request_members);
  append_members(members, {"messages", "input_ids"}, text);
  const std::vector<JsonMember> of_chat = members_of(turn.chat_members);
  if (const std::string_view tools = json_member(of_chat, "sent_tools"); !tools.empty())
    append_format(text, R"("tools":{},)", tools);
  return text + R"("messages":[)";
}

std::string response_head(const Turn& turn) {
  const std::vector<JsonMember> members = members_of(turn.reply_members);
  std::string text = R"(]},"response":{)";
  append_members(members, {"choices", "meta_info"}, text);
  text += R"("choices":[{"index":0,"message":)";
  text += turn.answer.text;
  text += R"(,"finish_reason":)";
  append_json(turn.finish_reason, text);
  text += R"(,"meta_info":{)";
  append_members(json_members(json_member(members, "meta_info")),
                 {"prompt_tokens", "cached_tokens", "weight_version", "output_token_logprobs",
                  "completion_tokens", "routed_experts", "indexer_topk"},
                 text);
  append_format(text, R"("prompt_tokens":{},"cached_tokens":{},)", turn.figures.prompt_tokens,
                turn.figures.cached_tokens);
  if (!turn.figures.weight_version.empty()) {
    text += R"("weight_version":)";
    append_json(turn.figures.weight_version, text);
    text += ',';
  }
  return text + R"("output_token_logprobs":[)";
}

// Which rows the server told in its reply to the last turn of `path`; nothing where it told none,
// or not all of them are there.
std::optional<std::pair<size_t, size_t>> rows_told(const TurnPath& path, RowKind kind) {
  const Turn& turn = path.last();
  if (turn.rows_of(kind) == nullptr || path.tokens() == 0) return std::nullopt;
  size_t first = 0;
  if (kind == RowKind::kRoutedExperts) {
    const std::vector<JsonMember> members = members_of(turn.request_members);
    const std::string_view start = json_member(members, "routed_experts_start_len");
    std::from_chars(start.data(), start.data() + start.size(), first);
  }
  const size_t end = path.tokens() - 1;
  if (path.rows_covered(kind) < end) return std::nullopt;
  return std::pair(std::min(first, end), end);
}

std::vector<Part> record_parts(const TurnPath& path, size_t messages) {
  using enum Part::Content;
  const Turn& turn = path.last();
  std::vector<Part> parts;
  parts.push_back(text_part(request_head(turn)));
  parts.push_back({.content = kMessages, .count = messages});
  parts.push_back(text_part(R"(],"input_ids":[)"));
  parts.push_back({.content = kTokens, .count = path.tokens() - turn.sampled.size()});
  parts.push_back(text_part(response_head(turn)));
  parts.push_back({.content = kLogprobs, .count = turn.sampled.size()});
  parts.push_back(text_part(fmt::format(R"(],"completion_tokens":{})", turn.sampled.size())));
  for (const RowKind kind : kEveryRowKind) {
    const auto rows = rows_told(path, kind);
    if (!rows) continue;
    parts.push_back(text_part(fmt::format(R"(,"{}":")", to_string(kind))));
    parts.push_back({.content = kRows,
                     .kind = kind,
                     .first = rows->first,
                     .count = rows->second - rows->first});
    parts.push_back(text_part("\""));
  }
  parts.push_back(text_part(R"(}}]},"status_code":200})"));
  return parts;
}

class RecordsBody final : public BodySource {
 public:
  RecordsBody(std::vector<TurnPtr> turns, RecordsBodyOptions options);

  std::optional<uint64_t> size() const override { return std::nullopt; }
  bool next(size_t bytes_wanted, std::string& bytes) override;

 private:
  bool begin_parts();
  void begin_record(const TurnPtr& turn);
  void append(const Part& part, size_t bytes_wanted, std::string& bytes);
  void append_messages(const Part& part, size_t bytes_wanted, std::string& bytes);
  void append_tokens(const Part& part, size_t bytes_wanted, std::string& bytes);
  void append_logprobs(const Part& part, size_t bytes_wanted, std::string& bytes);
  void append_rows(const Part& part, size_t bytes_wanted, std::string& bytes);

  const std::vector<TurnPtr> turns_;
  std::map<TurnId, TurnPtr> by_id_;
  RecordsBodyOptions options_;
  size_t first_record_ = 0;
  size_t record_ = 0;  // the next one
  bool has_begun_ = false;
  bool has_ended_ = false;

  std::vector<Part> parts_;  // of the beginning, a record, or the end
  size_t part_ = 0;          // the one that is being written
  size_t item_ = 0;          // the next one of it

  TurnPath path_;  // of the record
  std::vector<const std::string*> messages_;
  std::vector<int32_t> numbers_;
};

RecordsBody::RecordsBody(std::vector<TurnPtr> turns, RecordsBodyOptions options)
    : turns_(std::move(turns)), options_(std::move(options)) {
  for (const TurnPtr& turn : turns_)
    by_id_.emplace(turn->id, turn);
  if (options_.shown == RecordsShown::kNone) first_record_ = turns_.size();
  if (options_.shown == RecordsShown::kLast && !turns_.empty()) first_record_ = turns_.size() - 1;
  record_ = first_record_;
}

// False: everything was written.
bool RecordsBody::begin_parts() {
  parts_.clear();
  part_ = 0;
  item_ = 0;
  std::string text;
  if (!has_begun_) {
    has_begun_ = true;
    text = R"({"session_id":)";
    append_json(options_.session_id, text);
    parts_.push_back(text_part(text + R"(,"records":[)"));
  } else if (record_ < turns_.size()) {
    begin_record(turns_[record_++]);
  } else if (!has_ended_) {
    has_ended_ = true;
    text = R"(],"metadata":)";
    append_compact_json(options_.metadata, text);
    parts_.push_back(text_part(text + "}"));
  }
  return !parts_.empty();
}

void RecordsBody::begin_record(const TurnPtr& turn) {
  std::vector<TurnPtr> turns = {turn};
  while (turns.back()->parent != TurnId()) {
    const auto parent = by_id_.find(turns.back()->parent);
    ENSURE(parent != by_id_.end(), "records of turn {}, whose parent {} is not among the turns",
           turn->id.value(), turns.back()->parent.value());
    turns.push_back(parent->second);
  }
  std::ranges::reverse(turns);
  path_ = TurnPath(std::move(turns));
  messages_.clear();
  for (const TurnPtr& one : path_.turns()) {
    for (const StoredMessage& message : one->appended)
      messages_.push_back(&message.text);
    if (one != turn) messages_.push_back(&one->answer.text);
  }
  if (record_ > first_record_ + 1) parts_.push_back(text_part(","));
  std::ranges::move(record_parts(path_, messages_.size()), std::back_inserter(parts_));
}

void RecordsBody::append_messages(const Part& part, size_t bytes_wanted, std::string& bytes) {
  const size_t end = bytes.size() + bytes_wanted;
  for (; item_ < part.count && bytes.size() < end; ++item_) {
    if (item_ > 0) bytes += ',';
    bytes += *messages_[item_];
  }
}

void RecordsBody::append_tokens(const Part& part, size_t bytes_wanted, std::string& bytes) {
  numbers_.clear();
  const size_t count = std::min(bytes_wanted / kTokenText + 1, part.count - item_);
  path_.append_tokens(item_, count, numbers_);
  for (const int32_t token : numbers_) {
    if (item_++ > 0) bytes += ',';
    append_number(token, bytes);
  }
}

void RecordsBody::append_logprobs(const Part& part, size_t bytes_wanted, std::string& bytes) {
  const Turn& turn = path_.last();
  const size_t end = std::min(item_ + bytes_wanted / kLogprobText + 1, part.count);
  for (; item_ < end; ++item_) {
    bytes += item_ > 0 ? ",[" : "[";
    if (item_ < turn.logprobs.size()) append_json(turn.logprobs[item_], bytes);
    if (item_ >= turn.logprobs.size()) bytes += "null";
    bytes += ',';
    append_number(turn.sampled[item_], bytes);
    bytes += ",null]";
  }
}

// Three rows are whole groups of base64.
void RecordsBody::append_rows(const Part& part, size_t bytes_wanted, std::string& bytes) {
  const size_t each = path_.values_per_row(part.kind);
  const size_t of_three = base64_length(3 * each * sizeof(int32_t));
  const size_t count = std::min((bytes_wanted / of_three + 1) * 3, part.count - item_);
  numbers_.resize(count * each);
  path_.read_rows(part.kind, part.first + item_, count, numbers_);
  append_base64({reinterpret_cast<const char*>(numbers_.data()), numbers_.size() * sizeof(int32_t)},
                bytes);
  item_ += count;
}

void RecordsBody::append(const Part& part, size_t bytes_wanted, std::string& bytes) {
  switch (part.content) {
    case Part::Content::kText:
      bytes.append(part.text, item_, bytes_wanted);
      item_ = std::min(item_ + bytes_wanted, part.count);
      return;
    case Part::Content::kMessages:
      return append_messages(part, bytes_wanted, bytes);
    case Part::Content::kTokens:
      return append_tokens(part, bytes_wanted, bytes);
    case Part::Content::kLogprobs:
      return append_logprobs(part, bytes_wanted, bytes);
    case Part::Content::kRows:
      return append_rows(part, bytes_wanted, bytes);
  }
}

bool RecordsBody::next(size_t bytes_wanted, std::string& bytes) {
  const size_t before = bytes.size();
  const size_t end = before + std::max<size_t>(bytes_wanted, 1);
  while (bytes.size() < end && (part_ < parts_.size() || begin_parts())) {
    const Part& part = parts_[part_];
    if (item_ < part.count) {
      append(part, end - bytes.size(), bytes);
    } else {
      ++part_;
      item_ = 0;
    }
  }
  return bytes.size() > before;
}

}  // namespace

std::unique_ptr<BodySource> make_records_body(std::vector<TurnPtr> turns,
                                              RecordsBodyOptions options) {
  return std::make_unique<RecordsBody>(std::move(turns), std::move(options));
}

}  // namespace windrow::session
