#include "model_store/part_state.h"

#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include "json/values.h"

namespace windrow::model_store {

namespace json = boost::json;

std::string to_json(const PartState& state) {
  json::object object{
      {"sha256", state.of.sha256}, {"etag", state.of.etag}, {"bytes_synced", state.bytes_synced}};
  if (state.of.bytes) object["bytes"] = *state.of.bytes;
  return json::serialize(object) + "\n";
}

std::optional<PartState> parse_part_state(std::string_view text) {
  boost::system::error_code error;
  const json::value value = json::parse(json::string_view(text.data(), text.size()), error);
  if (error || !value.is_object()) return std::nullopt;
  const json::object& object = value.get_object();
  const auto number_in = [&](std::string_view name) -> std::optional<uint64_t> {
    const json::value* member = object.if_contains(name);
    if (member == nullptr || !member->is_number()) return std::nullopt;
    boost::system::error_code no_number;
    const auto number = member->to_number<uint64_t>(no_number);
    return no_number ? std::nullopt : std::optional(number);
  };
  return PartState{.of = {.bytes = number_in("bytes"),
                          .sha256 = std::string(text_in(object, "sha256")),
                          .etag = std::string(text_in(object, "etag"))},
                   .bytes_synced = number_in("bytes_synced").value_or(0)};
}

uint64_t bytes_to_keep(const std::optional<PartState>& state, uint64_t bytes_there,
                       const RemoteFile& now) {
  if (!state) return 0;
  const bool other_size = state->of.bytes && now.bytes && *state->of.bytes != *now.bytes;
  if (other_size || (now.bytes && bytes_there > *now.bytes)) return 0;
  if (!now.sha256.empty()) return state->of.sha256 == now.sha256 ? bytes_there : 0;
  const bool same = !now.etag.empty() && state->of.etag == now.etag;
  return same ? std::min(bytes_there, state->bytes_synced) : 0;
}

}  // namespace windrow::model_store
