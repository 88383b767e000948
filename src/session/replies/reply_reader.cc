#include "session/replies/reply_reader.h"

#include <fmt/format.h>

#include <utility>

#include "base/ensure.h"
#include "json/values.h"
#include "session/replies/reply_fields.h"

namespace windrow::session {

ReplyReader::ReplyReader(TurnReaderOptions options)
    : options_(std::move(options)),
      objects_(
          options_.streamed,
          {.blobs = [this] { return blobs(); },
           .on_object = [this](boost::json::object object) { return on_object(std::move(object)); },
           .why_refused = [this] { return why_refused(); }}) {
  for (const WantedRows& rows : options_.rows) {
    ENSURE(!rows.wanted || rows.values_per_row == 0 || rows.first_row >= rows.reply_begins_at,
           "rows {} to {} were not asked for", rows.first_row, rows.reply_begins_at);
  }
}

bool ReplyReader::fail(std::string message) {
  if (!failure_) failure_ = std::move(message);
  return false;
}

bool ReplyReader::take(std::string_view bytes) {
  if (failure_) return false;
  return objects_.take(bytes) || fail(objects_.wrong());
}

std::variant<TurnReply, llm::Failure> ReplyReader::end() {
  if (!failure_ && !objects_.end()) fail(objects_.wrong());
  if (!failure_) on_end();
  if (failure_) return unusable_reply(std::move(*failure_));
  return std::move(reply_);
}

bool ReplyReader::check_error(const boost::json::object& object) {
  const std::string error = reported_error(object);
  return error.empty() || fail("the server reports an error in place of an answer: " + error);
}

void ReplyReader::add_tokens(std::vector<int32_t> tokens, const std::vector<double>& logprobs) {
  if (tokens.empty()) return;
  reply_.logprobs.insert(reply_.logprobs.end(), logprobs.begin(), logprobs.end());
  reply_.tokens.insert(reply_.tokens.end(), tokens.begin(), tokens.end());
  if (options_.on_tokens) options_.on_tokens(tokens);
}

// --- rows ---

uint64_t ReplyReader::numbers_to_skip(RowKind kind, RowsSink::Form) const {
  return held_numbers(wanted(kind));
}

void ReplyReader::replace_sink(RowKind kind) {
  if (!wanted(kind).wanted) return;
  sinks_[static_cast<size_t>(kind)] = std::make_unique<RowsSink>(
      [this, kind](RowsSink::Form form) { return numbers_to_skip(kind, form); });
}

std::vector<BlobScanner::Blob> ReplyReader::blobs() {
  std::vector<BlobScanner::Blob> blobs;
  for (const RowKind kind : {RowKind::kRoutedExperts, RowKind::kIndexerTopk}) {
    if (sink(kind) == nullptr || !sink(kind)->is_unused()) replace_sink(kind);
    blobs.push_back({to_string(kind), sink(kind)});
  }
  return blobs;
}

bool ReplyReader::check_rows_were_read(const boost::json::object& object, RowKind kind,
                                       std::string_view name) {
  const boost::json::value* value = object.if_contains(name);
  if (!wanted(kind).wanted || value == nullptr || value->is_null()) return true;
  return fail(
      fmt::format("{} of the reply is {}, not rows as base64 or lists", name, kind_name(*value)));
}

bool ReplyReader::take_rows(RowKind kind) {
  if (sink(kind) == nullptr) return true;
  RowsOrFault rows = rows_of(*sink(kind), to_string(kind), wanted(kind), all_tokens());
  if (auto* fault = std::get_if<std::string>(&rows)) return fail(std::move(*fault));
  reply_.rows[static_cast<size_t>(kind)] = std::get<std::shared_ptr<TokenRows>>(std::move(rows));
  return true;
}

std::string ReplyReader::why_refused() const {
  for (const RowKind kind : {RowKind::kRoutedExperts, RowKind::kIndexerTopk}) {
    const RowsSink* sink = sinks_[static_cast<size_t>(kind)].get();
    if (sink != nullptr && !sink->wrong().empty())
      return fmt::format("{}: {}", to_string(kind), sink->wrong());
  }
  return "they have something other than whole numbers";
}

}  // namespace windrow::session
