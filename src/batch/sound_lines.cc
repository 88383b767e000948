#include "batch/sound_lines.h"

#include <boost/json/object.hpp>
#include <string>
#include <variant>

#include "batch/fingerprint.h"
#include "batch/result_line.h"

namespace windrow::batch {

namespace json = boost::json;

namespace {

constexpr int64_t kAnswered = 200;

// The 32 bits of a row: never 0, whether it has a line, and of its fingerprint what fits.
constexpr uint32_t kIsThere = 1;
constexpr uint32_t kHasLine = 2;
constexpr int kSoundFingerprintShift = 2;

uint32_t sound_entry(uint64_t fingerprint) {
  return kIsThere | (static_cast<uint32_t>(fingerprint) << kSoundFingerprintShift);
}

// Of a result; read_log_line has seen the rest.
bool has_answer(const json::object& line) {
  const json::object* response = line.at("response").if_object();
  if (response == nullptr) return false;
  const json::value* status = response->if_contains("status_code");
  const json::value* body = response->if_contains("body");
  return status != nullptr && status->is_int64() && status->get_int64() == kAnswered &&
         body != nullptr && body->is_object();
}

// It stands in the line, and follows from the rest of it.
bool has_its_id(const json::object& line, const LogLine& read) {
  const json::value* id = line.if_contains("id");
  const RowKey key{.identity = read.identity, .fingerprint = read.fingerprint};
  return id != nullptr && id->is_string() && id->get_string() == "batch_req_" + row_id(key);
}

}  // namespace

bool SoundLines::add(const RowKey& key) {
  return rows_.find_or_add(key.identity, sound_entry(key.fingerprint)).second;
}

void SoundLines::add_input(const Line& line) {
  const auto opened = reader_.open(line);
  if (const auto* fault = std::get_if<RowFault>(&opened)) {
    add(fault->key);
    return;
  }
  const RowKey& key = std::get<Envelope>(opened).key;
  // The second one of a name is told so, as a line.
  if (!add(key)) add(duplicate_fault(key, line).key);
}

std::optional<std::string_view> SoundLines::judge(LogKind kind, std::string_view text) {
  const json::value* const value = parsed_.parse(text);
  if (value == nullptr) return "it is not JSON";
  return judge(kind, *value);
}

std::optional<std::string_view> SoundLines::judge(LogKind kind, const json::value& value) {
  LogLine line;
  if (const auto why = read_log_line(value, kind, line)) return why;
  const json::object& object = value.get_object();
  if (kind == LogKind::kResults && !has_answer(object)) return "it has no answer";
  if (!has_its_id(object, line)) return "its id is that of another line";
  const std::optional<RowTable::Slot> slot = rows_.find(line.identity);
  if (!slot) return "the input has no such row";
  const uint32_t entry = rows_.value(*slot);
  if ((entry & ~kHasLine) != sound_entry(line.fingerprint))
    return "its row asks something else now";
  if ((entry & kHasLine) != 0) return "its row has a line already";
  rows_.set(*slot, entry | kHasLine);
  return std::nullopt;
}

}  // namespace windrow::batch
