#include "app/upstream_entry.h"

#include <fmt/format.h>

#include <array>
#include <boost/json/value.hpp>
#include <string_view>

#include "base/suggest.h"

namespace windrow::app {
namespace {

namespace json = boost::json;

constexpr std::array<std::string_view, 8> kKeys = {
    "url", "api-key", "api-key-env", "concurrency", "serial", "rpm", "tpm", "models"};

Error wrong(const std::string& place, std::string_view key, std::string_view wanted) {
  return Error{ErrorKind::kInvalid, fmt::format("{}: {} must be {}", place, key, wanted)};
}

Result<void> set_text(const json::value& value, const std::string& place, std::string_view key,
                      std::string& text) {
  if (!value.is_string() || value.get_string().empty()) return wrong(place, key, "a text");
  text = std::string(value.get_string());
  return {};
}

Result<void> set_count(const json::value& value, const std::string& place, std::string_view key,
                       std::optional<int64_t>& count) {
  if (!value.is_int64() || value.get_int64() < 0)
    return wrong(place, key, "a whole number from 0 up");
  count = value.get_int64();
  return {};
}

Result<void> set_models(const json::value& value, const std::string& place, UpstreamEntry& entry) {
  const json::object* table = value.if_object();
  if (table == nullptr) return wrong(place, "models", "a table: { \"name of rows\" = \"theirs\" }");
  for (const auto& [name, theirs] : *table) {
    if (!theirs.is_string())
      return wrong(place, fmt::format("models.{}", std::string_view(name)), "a text");
    entry.models[std::string(name)] = std::string(theirs.get_string());
  }
  return {};
}

Result<void> set(std::string_view key, const json::value& value, UpstreamEntry& entry) {
  const std::string& place = entry.place;
  if (key == "url") return set_text(value, place, key, entry.url);
  if (key == "api-key") return set_text(value, place, key, entry.api_key);
  if (key == "api-key-env") return set_text(value, place, key, entry.api_key_env);
  if (key == "rpm") return set_count(value, place, key, entry.requests_per_minute);
  if (key == "tpm") return set_count(value, place, key, entry.tokens_per_minute);
  if (key == "models") return set_models(value, place, entry);
  if (key == "serial") {
    if (!value.is_bool()) return wrong(place, key, "true or false");
    entry.serial = value.get_bool();
    return {};
  }
  if (key == "concurrency") {
    if (value.is_int64()) {
      entry.concurrency = fmt::format("{}", value.get_int64());
      return {};
    }
    return set_text(value, place, key, entry.concurrency);
  }
  return Error{ErrorKind::kInvalid,
               fmt::format("{}: {} is no key of [[upstreams]]{}", place, key,
                           did_you_mean(key, kKeys, "; docs/servers.md lists them"))};
}

}  // namespace

Result<UpstreamEntry> parse_upstream_entry(const json::object& table, const std::string& place) {
  UpstreamEntry entry{.url = {},
                      .api_key = {},
                      .api_key_env = {},
                      .concurrency = {},
                      .serial = {},
                      .requests_per_minute = {},
                      .tokens_per_minute = {},
                      .models = {},
                      .place = place};
  for (const auto& [key, value] : table) {
    if (const Result<void> done = set(std::string_view(key), value, entry); !done)
      return done.error();
  }
  if (entry.url.empty()) {
    return Error{
        ErrorKind::kInvalid,
        fmt::format("{}: this [[upstreams]] has no url; add url = \"http://host:8000/v1\"", place)};
  }
  return entry;
}

}  // namespace windrow::app
