#include "session/replies/reply_objects.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/value.hpp>
#include <utility>
#include <variant>

#include "base/utf8.h"
#include "json/limits.h"
#include "json/values.h"
#include "session/replies/exact_json.h"

namespace windrow::session {

namespace {
constexpr std::string_view kDone = "[DONE]";

// Of what is no stream of events.
constexpr size_t kBeginShown = 200;
}  // namespace

ReplyObjects::ReplyObjects(bool streamed, Callbacks callbacks)
    : streamed_(streamed), callbacks_(std::move(callbacks)), splitter_(*this) {}

bool ReplyObjects::fail(std::string why) {
  wrong_ = std::move(why);
  return false;
}

// Where something is wrong.
std::string ReplyObjects::place() const {
  return streamed_ ? fmt::format("event {} of the reply", events_ + 1) : "the reply";
}

bool ReplyObjects::take(std::string_view bytes) {
  if (!streamed_) return scan(bytes);
  if (events_ == 0) begin_ += bytes.substr(0, kBeginShown - begin_.size());
  return splitter_.take(bytes);
}

bool ReplyObjects::scan(std::string_view bytes) {
  if (!scanner_) scanner_.emplace(callbacks_.blobs(), kReplyRestBytesMax);
  if (scanner_->take(bytes)) return true;
  switch (scanner_->state()) {
    case BlobScanner::State::kRefused:
      return fail(
          fmt::format("{} has rows that cannot be read: {}", place(), callbacks_.why_refused()));
    case BlobScanner::State::kTooLong:
      return fail(
          fmt::format("{} has more than {} bytes beside its rows", place(), kReplyRestBytesMax));
    default:
      return fail(fmt::format(
          "{} is no JSON object, or one that is nested more than {} deep: it goes wrong in the {} "
          "bytes up to byte {}",
          place(), kJsonDepthMax, bytes.size(), scanner_->bytes()));
  }
}

bool ReplyObjects::end_object() {
  if (!scanner_ || scanner_->state() != BlobScanner::State::kWhole) {
    return fail(fmt::format("{} ends within its JSON, after {} bytes", place(),
                            scanner_ ? scanner_->bytes() : 0));
  }
  auto parsed = parse_exact_json(scanner_->rest());
  scanner_.reset();
  if (const auto* fault = std::get_if<std::string>(&parsed))
    return fail(fmt::format("{} is no JSON (without its rows): {}", place(), *fault));
  auto& value = std::get<boost::json::value>(parsed);
  if (!value.is_object())
    return fail(fmt::format("{} is {}, not an object", place(), kind_name(value)));
  return callbacks_.on_object(std::move(value.get_object()));
}

bool ReplyObjects::on_data(std::string_view text) {
  if (is_done_) return true;
  if (!scanner_) {
    // Until they differ from [DONE], which is no JSON.
    const size_t compared = std::min(text.size(), kDone.size() - head_.size());
    head_ += text.substr(0, compared);
    text.remove_prefix(compared);
    if (kDone.starts_with(head_) && text.empty()) return true;
    const std::string head = std::exchange(head_, {});
    if (!scan(head)) return false;
  }
  return text.empty() || scan(text);
}

bool ReplyObjects::on_event() {
  if (is_done_) return true;
  if (head_ == kDone) {
    is_done_ = true;
    return true;
  }
  if (!head_.empty() && !scan(std::exchange(head_, {}))) return false;
  if (!end_object()) return false;
  ++events_;
  return true;
}

bool ReplyObjects::end() {
  if (!streamed_) return end_object();
  if (!splitter_.end()) return false;
  if (is_done_) return true;
  // As a rule a whole reply that is an error.
  if (events_ == 0 && !begin_.empty())
    return fail("the reply is no stream of events, though one was asked for; it begins with: " +
                utf8_repair(begin_));
  return fail(fmt::format(
      "the reply is a stream without its end: after {} events there was no `data: [DONE]`",
      events_));
}

}  // namespace windrow::session
