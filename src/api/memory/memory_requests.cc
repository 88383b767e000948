#include "api/memory/memory_requests.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "api/memory/object_reader.h"
#include "api/wire/refusals.h"
#include "json/parse.h"
#include "json/values.h"
#include "memory/bank/iso_time.h"

namespace windrow::api {

namespace json = boost::json;

using memory::MemoryType;
using memory::Tags;

namespace {

// --- tags ---

// A list; or one string, which is one tag or a list of tags written as JSON.
Tags read_tags(ObjectReader& from, std::string_view name) {
  const json::value* value = from.value(name);
  if (value == nullptr) return {};
  const json::string* text = value->if_string();
  if (text == nullptr) return Tags(from.texts(name).value_or(std::vector<std::string>()));
  const auto parsed = parse_json(*text);
  const auto* inner = std::get_if<json::value>(&parsed);
  if (inner == nullptr || !inner->is_array()) return Tags({std::string(*text)});
  return Tags(read_strings(inner->get_array(), from.path_of(name), from.problem()));
}

memory::ObservationScopes read_scopes(ObjectReader& from, const Tags& tags) {
  constexpr std::string_view kName = "observation_scopes";
  constexpr std::string_view kForms =
      "\"combined\", \"per_tag\", \"all_combinations\", \"shared\", or a list of lists of tags";
  memory::ObservationScopes scopes;
  const json::value* value = from.value(kName);
  if (value == nullptr) return scopes;
  if (const json::array* list = value->if_array()) {
    scopes.kind = memory::ScopeKind::kExplicit;
    for (size_t i = 0; i < list->size(); ++i) {
      const std::string name = fmt::format("{}[{}]", kName, i);
      const json::array* scope = (*list)[i].if_array();
      if (scope == nullptr) {
        from.wrong(name, "a list of tags", (*list)[i]);
        return scopes;
      }
      scopes.listed.emplace_back(read_strings(*scope, from.path_of(name), from.problem()));
    }
    return scopes;
  }
  const json::string* word = value->if_string();
  if (word == nullptr) {
    from.wrong(kName, kForms, *value);
  } else if (*word == "per_tag") {
    scopes.kind = memory::ScopeKind::kPerTag;
  } else if (*word == "shared") {
    scopes.kind = memory::ScopeKind::kShared;
  } else if (*word == "all_combinations") {
    scopes.kind = memory::ScopeKind::kAllCombinations;
    if (tags.size() > memory::kCombinedTagsMax) {
      from.fail(kName, fmt::format("all_combinations of {} tags are too many scopes; it is for at "
                                   "most {} tags, so list the scopes that are wanted",
                                   tags.size(), memory::kCombinedTagsMax));
    }
  } else if (*word != "combined") {
    from.fail(kName, fmt::format("{} is \"{}\"; it must be {}", kName,
                                 llm::shown(std::string_view(*word)), kForms));
  }
  return scopes;
}

// --- retain ---

void read_timestamp(ObjectReader& from, memory::RetainItem& item) {
  const auto text = from.text("timestamp");
  if (!text || text->empty()) return;
  if (lower_case(*text) == "unset") {
    item.timestamp_unset = true;
    return;
  }
  item.timestamp = memory::unix_ms_from_iso(*text);
  if (!item.timestamp) {
    from.fail("timestamp",
              fmt::format("timestamp is \"{}\"; it must be a time like 2024-01-15T10:30:00Z, or "
                          "\"unset\" for none",
                          llm::shown(*text)));
  }
}

// Names without the blanks around them, each once in any case.
std::vector<std::string> distinct_names(const std::vector<std::string>& names) {
  std::vector<std::string> kept;
  std::vector<std::string> seen;
  for (const std::string& name : names) {
    const std::string_view text = trimmed(name);
    if (text.empty() || std::ranges::find(seen, lower_case(text)) != seen.end()) continue;
    seen.push_back(lower_case(text));
    kept.emplace_back(text);
  }
  return kept;
}

std::vector<std::string> read_entities(ObjectReader& from) {
  std::vector<std::string> names;
  const json::array* list = from.list("entities");
  for (size_t i = 0; list != nullptr && i < list->size(); ++i) {
    const std::string name = fmt::format("entities[{}]", i);
    if (!(*list)[i].is_object()) {
      from.wrong(name, "an object with a text", (*list)[i]);
      break;
    }
    ObjectReader entity((*list)[i].get_object(), from.path_of(name), from.problem());
    names.push_back(entity.required_text("text"));
    entity.text("type");
  }
  return distinct_names(names);
}

memory::RetainItem read_item(const json::object& object, std::string path,
                             const std::vector<std::string>& document_tags, llm::Problem& problem) {
  ObjectReader from(object, std::move(path), problem);
  memory::RetainItem item;
  item.content = from.required_text("content");
  if (!problem && trimmed(item.content).empty())
    from.fail("content", "content cannot be empty; it must be the text to remember");
  item.context = from.text("context").value_or("");
  read_timestamp(from, item);
  item.metadata = from.text_map("metadata");
  item.document_id = from.text("document_id").value_or("");
  item.entities = read_entities(from);
  std::vector<std::string> tags = read_tags(from, "tags").list();
  tags.insert(tags.end(), document_tags.begin(), document_tags.end());
  item.tags = Tags(std::move(tags));
  item.scopes = read_scopes(from, item.tags);
  if (const auto mode = from.text("update_mode")) {
    if (*mode == "append")
      item.update = memory::DocumentUpdate::kAppend;
    else if (*mode != "replace")
      from.fail("update_mode", fmt::format("update_mode is \"{}\"; it must be replace or append",
                                           llm::shown(*mode)));
  }
  if (from.value("strategy") != nullptr)
    from.fail(
        "strategy",
        "this server has no named strategies; set retain_extraction_mode of the bank instead");
  return item;
}

// The first document that two items have.
std::optional<std::string> repeated_document(const std::vector<memory::RetainItem>& items) {
  std::vector<std::string_view> ids;
  for (const memory::RetainItem& item : items) {
    if (!item.document_id.empty()) ids.push_back(item.document_id);
  }
  std::ranges::sort(ids);
  const auto twice = std::ranges::adjacent_find(ids);
  if (twice == ids.end()) return std::nullopt;
  return std::string(*twice);
}

}  // namespace

memory::Reply<json::object> read_object(std::string_view body) {
  if (const size_t values = count_json_values(body); values > kJsonValuesMax)
    return too_many_values(values);
  auto parsed = parse_json(body);
  if (const auto* fault = std::get_if<JsonFault>(&parsed)) {
    return unprocessable(
        "body", body.empty()
                    ? std::string("the body is missing; it must be a JSON object")
                    : fmt::format("JSON decode error at byte {}: {}", fault->byte, fault->reason));
  }
  auto& value = std::get<json::value>(parsed);
  if (!value.is_object()) {
    return unprocessable("body",
                         fmt::format("the body must be a JSON object, not {}", kind_name(value)));
  }
  return std::move(value.get_object());
}

memory::Reply<json::object> read_optional_object(std::string_view body) {
  const std::string_view text = trimmed(body);
  if (text.empty() || text == "null") return json::object();
  return read_object(body);
}

memory::Reply<RetainRequest> read_retain(const json::object& body) {
  llm::Problem problem;
  ObjectReader from(body, "body", problem);
  RetainRequest request;
  request.in_background = from.flag("async").value_or(false);
  const auto document_tags = from.texts("document_tags").value_or(std::vector<std::string>());
  const json::array* items = from.list("items");
  if (items == nullptr) from.fail("items", "items is missing; it must be a list of memories");
  for (size_t i = 0; items != nullptr && i < items->size() && !problem; ++i) {
    const std::string name = fmt::format("items[{}]", i);
    if (const json::object* item = (*items)[i].if_object()) {
      request.items.push_back(read_item(*item, from.path_of(name), document_tags, problem));
    } else {
      from.wrong(name, "an object with a content", (*items)[i]);
    }
  }
  if (const auto id = from.text("operation_id")) {
    if (check_uuid(*id, "operation_id"))
      from.fail("operation_id",
                fmt::format("operation_id is \"{}\"; it must be a UUID", llm::shown(*id)));
    if (request.in_background) request.operation = memory::OperationId{lower_case(*id)};
  }
  if (problem) return *problem;
  if (request.in_background) {
    if (const auto twice = repeated_document(request.items)) {
      llm::Failure failure = unprocessable(
          "", fmt::format("document_id \"{}\" is that of several items; with async each document "
                          "may have one item",
                          llm::shown(*twice)));
      failure.status = 400;
      return failure;
    }
  }
  return request;
}

memory::Reply<MemoryPatch> read_memory_patch(const json::object& body) {
  llm::Problem problem;
  ObjectReader from(body, "body", problem);
  MemoryPatch patch;
  patch.text = from.text("text");
  patch.context = from.text("context");
  const auto read_time = [&](std::string_view name) -> std::optional<std::optional<int64_t>> {
    if (!body.contains(name)) return std::nullopt;
    const auto text = from.text(name);
    if (!text || text->empty()) return std::optional<int64_t>();
    const auto time = memory::unix_ms_from_iso(*text);
    if (!time) {
      from.fail(name, fmt::format("{} is \"{}\"; it must be a time like 2024-01-15T10:30:00Z, or "
                                  "empty for none",
                                  name, llm::shown(*text)));
    }
    return std::optional(time);
  };
  patch.occurred_start = read_time("occurred_start");
  patch.occurred_end = read_time("occurred_end");
  if (const auto type = from.text("fact_type")) {
    patch.type = memory::memory_type_named(*type);
    if (!patch.type || patch.type == MemoryType::kObservation)
      from.fail("fact_type", fmt::format("fact_type is \"{}\"; it must be world or experience",
                                         llm::shown(*type)));
  }
  if (const auto entities = from.texts("entities")) patch.entities = distinct_names(*entities);
  if (const auto state = from.text("state")) {
    patch.valid = *state == "valid";
    if (*state != "valid" && *state != "invalidated")
      from.fail("state", fmt::format("state is \"{}\"; it must be valid or invalidated",
                                     llm::shown(*state)));
  }
  patch.reason = from.text("reason").value_or("");
  if (problem) return *problem;
  if (!patch.edits() && !patch.valid)
    return unprocessable("body", "Provide at least one field to update.");
  if (patch.text && trimmed(*patch.text).empty()) {
    llm::Failure blank = unprocessable("", "text cannot be empty; give the new text of the memory");
    blank.status = 400;
    return blank;
  }
  return patch;
}

Result<void> apply_patch(const MemoryPatch& patch, memory::UnixMs now, memory::Memory& memory) {
  const bool becomes_valid = patch.valid.value_or(false);
  if (patch.edits() && memory.invalidated && !becomes_valid) {
    return Error{ErrorKind::kInvalid,
                 "the memory is invalidated; revert it to 'valid' first (state: \"valid\")"};
  }
  if (patch.text && *patch.text != memory.text) {
    memory.text = *patch.text;
    memory.embedding.clear();  // it was of the old text
  }
  if (patch.context) memory.context = *patch.context;
  if (patch.occurred_start) memory.times.occurred_start = *patch.occurred_start;
  if (patch.occurred_end) memory.times.occurred_end = *patch.occurred_end;
  if (patch.type) memory.type = *patch.type;
  if (patch.entities) memory.entities = *patch.entities;
  if (patch.edits()) memory.edited = now;
  if (patch.valid == false && !memory.invalidated) {
    memory.invalidated = now;
    memory.invalidation_reason = patch.reason;
  } else if (becomes_valid) {
    memory.invalidated.reset();
    memory.invalidation_reason.clear();
  }
  return {};
}

}  // namespace windrow::api
