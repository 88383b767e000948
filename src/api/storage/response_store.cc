#include "api/storage/response_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <cstddef>
#include <iterator>
#include <ranges>
#include <utility>

#include "json/limits.h"
#include "llm/field_values.h"

namespace windrow::api {

namespace json = boost::json;

namespace {

std::string_view prefix_of(const json::object& item) {
  const json::value& type = item.at("type");
  if (type == "function_call") return "fc";
  if (type == "function_call_output") return "fco";
  return type == "reasoning" ? "rs" : "msg";
}

}  // namespace

StoredItems stored_items(std::string_view response_id, json::array items) {
  const std::string_view chance = response_id.substr(response_id.find('_') + 1);
  StoredItems stored;
  stored.ids.reserve(items.size());
  for (size_t i = 0; i < items.size(); ++i) {
    json::value& id = items[i].as_object()["id"];
    if (!id.is_string() || id.get_string().empty())
      id = fmt::format("{}_{}in{}", prefix_of(items[i].get_object()), chance, i);
    stored.ids.emplace_back(id.get_string());
  }
  stored.text = json::serialize(items);
  return stored;
}

namespace {

// The memory of a response besides its texts: its nodes in the list and the maps.
constexpr size_t kEntryBytes = 512;
constexpr size_t kItemBytes = 128;

llm::Failure store_failure(int32_t status, std::string code, std::string message) {
  return {.failure_class = llm::FailureClass::kRequest,
          .status = status,
          .code = std::move(code),
          .message = std::move(message)};
}

// Bounds the text of the turns or items that one request reads, because parsed values take several
// times as much memory.
constexpr size_t kConversationBytesMax = size_t{32} << 20;

llm::Failure too_long(std::string_view id) {
  return store_failure(413, "conversation_too_long",
                       fmt::format("what is kept of \"{}\" and before it is more than {} MB; send "
                                   "what of it is needed in input instead",
                                   llm::shown(id), kConversationBytesMax >> 20));
}

json::value parse_kept(const std::string& text) {
  return json::parse(text, {}, {.max_depth = kWrittenJsonDepthMax});
}

json::array output_of(const std::string& body) {
  return parse_kept(body).at("output").as_array();
}

const json::value* item_in(const json::array& items, std::string_view id) {
  const auto found = std::ranges::find_if(
      items, [&](const json::value& item) { return item.at("id").as_string() == id; });
  return found == items.end() ? nullptr : &*found;
}

}  // namespace

size_t ResponseStore::bytes() const {
  const std::scoped_lock lock(mutex_);
  return bytes_;
}

size_t ResponseStore::count() const {
  const std::scoped_lock lock(mutex_);
  return count_;
}

void ResponseStore::keep(std::string_view key, StoredResponse response) {
  Kept kept{.id = std::move(response.id),
            .previous_id = std::move(response.previous_id),
            .body = std::move(response.body),
            .input = std::move(response.input.text),
            .item_ids = std::move(response.input.ids)};
  std::ranges::move(response.output_ids, std::back_inserter(kept.item_ids));
  kept.bytes = kEntryBytes + kept.body.size() + kept.input.size();
  for (const std::string& id : kept.item_ids)
    kept.bytes += kItemBytes + 2 * id.size();
  if (kept.bytes > bytes_max_) return;

  const std::scoped_lock lock(mutex_);
  auto shelf = shelves_.find(key);
  if (shelf == shelves_.end()) shelf = shelves_.emplace(std::string(key), Shelf()).first;
  Shelf& its = shelf->second;
  its.by_use.push_back(std::move(kept));
  const Place place = std::prev(its.by_use.end());
  its.by_id.emplace(place->id, place);
  for (const std::string& id : place->item_ids)
    its.by_item.emplace(id, place);
  its.bytes += place->bytes;
  bytes_ += place->bytes;
  ++count_;
  use(its, place);
  evict();
}

bool ResponseStore::erase(std::string_view key, std::string_view id) {
  const std::scoped_lock lock(mutex_);
  Shelf* shelf = shelf_of(key);
  if (shelf == nullptr) return false;
  const std::optional<Place> place = find(*shelf, id);
  if (!place) return false;
  remove(*shelf, *place);
  if (shelf->by_use.empty()) shelves_.erase(shelves_.find(key));
  return true;
}

std::variant<std::string, llm::Failure> ResponseStore::body(std::string_view key,
                                                            std::string_view id) {
  const std::scoped_lock lock(mutex_);
  Shelf* shelf = shelf_of(key);
  const std::optional<Place> place = shelf == nullptr ? std::nullopt : find(*shelf, id);
  if (!place) return no_response(id);
  use(*shelf, *place);
  return (*place)->body;
}

std::variant<json::array, llm::Failure> ResponseStore::input_items(std::string_view key,
                                                                   std::string_view id) {
  return items_up_to(key, id, false);
}

std::variant<json::array, llm::Failure> ResponseStore::conversation(std::string_view key,
                                                                    std::string_view id) {
  return items_up_to(key, id, true);
}

// Copies texts under the lock and parses them without it.
std::variant<json::array, llm::Failure> ResponseStore::items_up_to(std::string_view key,
                                                                   std::string_view id,
                                                                   bool with_output) {
  struct Turn {
    std::string input;
    std::string body;
  };
  std::vector<Turn> turns;  // newest first
  size_t text_bytes = 0;
  {
    const std::scoped_lock lock(mutex_);
    Shelf* shelf = shelf_of(key);
    std::string next(id);
    while (!next.empty()) {
      const std::optional<Place> place = shelf == nullptr ? std::nullopt : find(*shelf, next);
      if (!place && with_output) return no_previous(next);
      if (!place) return turns.empty() ? no_response(next) : no_earlier_turn(id, next);
      if (turns.empty()) use(*shelf, *place);
      const bool answered = with_output || !turns.empty();
      text_bytes += (*place)->input.size() + (answered ? (*place)->body.size() : 0);
      if (text_bytes > kConversationBytesMax) return too_long(id);
      turns.push_back({(*place)->input, answered ? (*place)->body : ""});
      next = (*place)->previous_id;
    }
  }
  json::array items;
  for (const Turn& turn : std::views::reverse(turns)) {
    json::value input = parse_kept(turn.input);
    for (json::value& item : input.as_array())
      items.push_back(std::move(item));
    if (turn.body.empty()) continue;
    for (json::value& item : output_of(turn.body))
      items.push_back(std::move(item));
  }
  return items;
}

std::variant<json::value, llm::Failure> ResponseStore::item(std::string_view key,
                                                            std::string_view id) {
  std::string input;
  std::string body;
  {
    const std::scoped_lock lock(mutex_);
    Shelf* shelf = shelf_of(key);
    if (shelf == nullptr) return no_item(id);
    const auto [begin, end] = shelf->by_item.equal_range(id);
    if (begin == end) return no_item(id);
    const Place place = std::prev(end)->second;
    use(*shelf, place);
    input = place->input;
    body = place->body;
  }
  const json::array output = output_of(body);
  if (const json::value* found = item_in(output, id)) return *found;
  const json::array sent = parse_kept(input).as_array();
  if (const json::value* found = item_in(sent, id)) return *found;
  return no_item(id);
}

// --- under the lock ---

ResponseStore::Shelf* ResponseStore::shelf_of(std::string_view key) {
  const auto found = shelves_.find(key);
  return found == shelves_.end() ? nullptr : &found->second;
}

std::optional<ResponseStore::Place> ResponseStore::find(Shelf& shelf, std::string_view id) {
  const auto found = shelf.by_id.find(id);
  return found == shelf.by_id.end() ? std::nullopt : std::optional(found->second);
}

void ResponseStore::use(Shelf& shelf, Place place) {
  std::optional<Place> next = place;
  while (next) {
    shelf.by_use.splice(shelf.by_use.end(), shelf.by_use, *next);
    next = find(shelf, (*next)->previous_id);
  }
}

void ResponseStore::remove(Shelf& shelf, Place place) {
  for (const std::string& id : place->item_ids) {
    const auto [begin, end] = shelf.by_item.equal_range(id);
    const auto found =
        std::find_if(begin, end, [&](const auto& entry) { return entry.second == place; });
    if (found != end) shelf.by_item.erase(found);
  }
  shelf.by_id.erase(place->id);
  shelf.bytes -= place->bytes;
  bytes_ -= place->bytes;
  --count_;
  shelf.by_use.erase(place);
}

void ResponseStore::evict() {
  while (bytes_ > bytes_max_) {
    const auto largest = std::ranges::max_element(
        shelves_, {}, [](const auto& shelf) { return shelf.second.bytes; });
    remove(largest->second, largest->second.by_use.begin());
    if (largest->second.by_use.empty()) shelves_.erase(largest);
  }
}

// --- what is said ---

std::string ResponseStore::why_not_there() const {
  if (bytes_max_ == 0) return "this server keeps no responses (--keep-items-mb 0)";
  return fmt::format(
      "it was not stored under this key, was too large to keep, was deleted, or was evicted for "
      "newer "
      "ones: responses are kept in {} MB of memory, which --keep-items-mb sets, until the server "
      "stops",
      bytes_max_ >> 20);
}

llm::Failure ResponseStore::no_response(std::string_view id) const {
  return store_failure(
      404, "response_not_found",
      fmt::format("there is no response \"{}\": {}", llm::shown(id), why_not_there()));
}

llm::Failure ResponseStore::no_previous(std::string_view id) const {
  return store_failure(
      404, "previous_response_not_found",
      fmt::format("there is no response \"{}\" to continue: {}; send the whole conversation in "
                  "input instead",
                  llm::shown(id), why_not_there()));
}

llm::Failure ResponseStore::no_earlier_turn(std::string_view id, std::string_view earlier) const {
  return store_failure(
      404, "previous_response_not_found",
      fmt::format("the input of the response \"{}\" cannot be listed as a whole: it continues "
                  "\"{}\", which is not kept any more: {}; GET /v1/responses/ID still shows the "
                  "answer of each response that is kept, and the input is only with the client "
                  "that sent it",
                  llm::shown(id), llm::shown(earlier), why_not_there()));
}

llm::Failure ResponseStore::no_item(std::string_view id) const {
  return store_failure(404, "item_not_found",
                       fmt::format("there is no item \"{}\": {}; send the item itself instead",
                                   llm::shown(id), why_not_there()));
}

// --- KeyedResponses ---

std::variant<json::array, llm::Failure> KeyedResponses::conversation(
    std::string_view response_id) const {
  auto found = store_.conversation(key_, response_id);
  if (const auto* items = std::get_if<json::array>(&found)) {
    const std::string text = json::serialize(*items);
    bytes_ += json_weight(count_json_values(text), text.size());
  }
  return found;
}

std::variant<json::value, llm::Failure> KeyedResponses::item(std::string_view id) const {
  if (item_bytes_ > kConversationBytesMax) return too_long(id);
  auto found = store_.item(key_, id);
  if (const auto* item = std::get_if<json::value>(&found)) {
    const std::string text = json::serialize(*item);
    item_bytes_ += text.size();
    bytes_ += json_weight(count_json_values(text), text.size());
  }
  return found;
}

}  // namespace windrow::api
