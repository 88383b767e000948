#include "api/memory/memory_requests.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <limits>
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
using memory::TagsMatch;

namespace {

constexpr int64_t kTokensMax = std::numeric_limits<int32_t>::max();
constexpr size_t kQueryBytesMax = 16'384;
constexpr int64_t kChunkTokens = 8192;
constexpr int64_t kSourceTokens = 4096;
constexpr size_t kTagGroupsMax = 200;

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n\f\v";
  const size_t from = text.find_first_not_of(kBlank);
  if (from == std::string_view::npos) return {};
  return text.substr(from, text.find_last_not_of(kBlank) - from + 1);
}

bool has_word(std::string_view text) {
  return std::ranges::any_of(text, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x80 || std::isalnum(byte) != 0 || c == '_';
  });
}

// --- tags ---

TagsMatch read_match(ObjectReader& from, std::string_view name, TagsMatch otherwise) {
  const auto text = from.text(name);
  if (!text) return otherwise;
  if (const auto match = memory::tags_match_named(*text)) return *match;
  from.fail(name, fmt::format("{} is \"{}\"; it must be any, all, any_strict, all_strict or exact",
                              name, llm::shown(*text)));
  return otherwise;
}

class TagGroupReader {
 public:
  explicit TagGroupReader(llm::Problem& problem) : problem_(problem) {}

  std::vector<memory::TagGroup> read(const json::array& list, const std::string& path) {
    std::vector<memory::TagGroup> groups;
    for (size_t i = 0; i < list.size() && !problem_; ++i)
      groups.push_back(read_one(list[i], fmt::format("{}[{}]", path, i)));
    return groups;
  }

 private:
  memory::TagGroup read_one(const json::value& value, const std::string& path) {
    memory::TagGroup group;
    if (++count_ > kTagGroupsMax) {
      note(path, fmt::format("there are more than {} groups of tags; use fewer", kTagGroupsMax));
      return group;
    }
    if (!value.is_object()) {
      note(path, fmt::format("a group must be an object, not {}", kind_name(value)));
      return group;
    }
    ObjectReader from(value.get_object(), path, problem_);
    using Kind = memory::TagGroup::Kind;
    if (const json::value* inner = from.value("not")) {
      group.kind = Kind::kNot;
      group.parts.push_back(read_one(*inner, from.path_of("not")));
    } else if (from.value("and") != nullptr || from.value("or") != nullptr) {
      const bool all = from.value("and") != nullptr;
      group.kind = all ? Kind::kAnd : Kind::kOr;
      const std::string_view name = all ? "and" : "or";
      if (const json::array* parts = from.list(name))
        group.parts = read(*parts, from.path_of(name));
    } else if (const auto tags = from.texts("tags")) {
      group.tags = Tags(*tags);
      group.match = read_match(from, "match", TagsMatch::kAnyStrict);
    } else {
      note(path, "a group must have tags, and, or, or not");
    }
    return group;
  }

  void note(const std::string& path, std::string message) {
    if (!problem_) problem_ = unprocessable(path, std::move(message));
  }

  llm::Problem& problem_;
  size_t count_ = 0;
};

memory::TagFilter read_filter(ObjectReader& from) {
  memory::TagFilter filter;
  const auto tags = from.texts("tags");
  if (tags) filter.tags = Tags(*tags);
  filter.match = read_match(from, "tags_match", TagsMatch::kAny);
  const json::array* groups = from.list("tag_groups");
  if (groups == nullptr) return filter;
  if (tags) from.fail("tag_groups", "tags and tag_groups cannot be used together; take one out");
  filter.groups = TagGroupReader(from.problem()).read(*groups, from.path_of("tag_groups"));
  return filter;
}

// A list; or one string, which is one tag or a list of tags written as JSON.
Tags read_tags(ObjectReader& from, std::string_view name) {
  const json::value* value = from.value(name);
  if (value == nullptr) return {};
  const json::string* text = value->if_string();
  if (text == nullptr) return Tags(from.texts(name).value_or(std::vector<std::string>()));
  const auto parsed = parse_json(*text);
  const auto* inner = std::get_if<json::value>(&parsed);
  if (inner == nullptr || !inner->is_array()) return Tags({std::string(*text)});
  return Tags(read_texts(inner->get_array(), from.path_of(name), from.problem()));
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
      scopes.listed.emplace_back(read_texts(*scope, from.path_of(name), from.problem()));
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

// --- recall ---

void read_types(ObjectReader& from, std::string_view name, std::vector<MemoryType>& types,
                bool* none) {
  const auto words = from.texts(name);
  if (!words) return;
  std::vector<std::string> unknown;
  for (const std::string& word : *words) {
    if (word == "opinion" && none != nullptr) continue;
    if (const auto type = memory::memory_type_named(word)) {
      types.push_back(*type);
    } else {
      unknown.push_back(word);
    }
  }
  if (!unknown.empty()) {
    std::ranges::sort(unknown);
    from.fail(name, llm::shown(fmt::format("Invalid fact type(s): {}", fmt::join(unknown, ", "))) +
                        ". Must be one of: experience, observation, world");
  } else if (none != nullptr) {
    *none = types.empty() && !words->empty();
  }
}

memory::RecallBudget read_budget(ObjectReader& from, memory::RecallBudget otherwise) {
  const auto text = from.text("budget");
  if (!text) return otherwise;
  if (*text == "low") return memory::RecallBudget::kLow;
  if (*text == "mid") return memory::RecallBudget::kMid;
  if (*text == "high") return memory::RecallBudget::kHigh;
  from.fail("budget",
            fmt::format("budget is \"{}\"; it must be low, mid or high", llm::shown(*text)));
  return otherwise;
}

std::string read_query_text(ObjectReader& from) {
  std::string text = from.required_text("query");
  if (from.failed()) return text;
  if (!has_word(text)) from.fail("query", "query must have a letter or a digit");
  if (text.size() > kQueryBytesMax) {
    from.fail("query", fmt::format("Query too long: {} bytes exceeds maximum of {}. Ask for less",
                                   text.size(), kQueryBytesMax));
  }
  return text;
}

std::map<std::string, double> read_scores(ObjectReader& from) {
  std::map<std::string, double> scores;
  const json::object* object = from.object("min_scores");
  if (object == nullptr) return scores;
  ObjectReader members(*object, from.path_of("min_scores"), from.problem());
  for (const char* name : {"semantic", "keyword", "final"}) {
    if (const auto score = members.real(name)) scores.emplace(name, *score);
  }
  if (members.value("reranker") != nullptr)
    members.fail("reranker", "this server has no reranker; use semantic, keyword or final");
  return scores;
}

// The tokens of a part that is included; nothing: it is not.
std::optional<int64_t> read_included(ObjectReader& include, std::string_view name,
                                     int64_t otherwise) {
  const json::object* part = include.object(name);
  if (part == nullptr) return std::nullopt;
  ObjectReader members(*part, include.path_of(name), include.problem());
  const int64_t tokens = members.number("max_tokens", -1, kTokensMax).value_or(otherwise);
  members.number("max_tokens_per_observation", -1, kTokensMax);
  return tokens < 0 ? kTokensMax : tokens;
}

void read_include(ObjectReader& from, RecallRequest& request) {
  const json::object* object = from.object("include");
  if (object == nullptr) return;
  ObjectReader include(*object, from.path_of("include"), from.problem());
  // Absent is on, null is off.
  const json::value* entities = object->if_contains("entities");
  request.with_entities = entities == nullptr || !entities->is_null();
  request.query.entity_tokens_max = read_included(include, "entities", 0);
  request.query.chunk_tokens_max = read_included(include, "chunks", kChunkTokens);
  request.query.source_fact_tokens_max = read_included(include, "source_facts", kSourceTokens);
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

memory::Reply<RecallRequest> read_recall(const json::object& body) {
  llm::Problem problem;
  ObjectReader from(body, "body", problem);
  RecallRequest request;
  request.query.text = read_query_text(from);
  read_types(from, "types", request.query.types, &request.none);
  request.query.budget = read_budget(from, memory::RecallBudget::kMid);
  request.query.tokens_max = from.number("max_tokens", 0, kTokensMax).value_or(4096);
  request.query.trace = from.flag("trace").value_or(false);
  request.query.prefer_observations = from.flag("prefer_observations").value_or(false);
  request.query.tags = read_filter(from);
  request.query.scores_min = read_scores(from);
  read_include(from, request);
  if (const auto time = from.text("query_timestamp"); time && !memory::unix_ms_from_iso(*time)) {
    from.fail("query_timestamp",
              fmt::format("query_timestamp is \"{}\"; it must be a time like 2024-01-15T10:30:00Z",
                          llm::shown(*time)));
  }
  if (from.value("temporal_window") != nullptr)
    from.fail("temporal_window", "this server does not search by time; take it out");
  if (problem) return *problem;
  return request;
}

memory::Reply<ReflectRequest> read_reflect(const json::object& body) {
  llm::Problem problem;
  ObjectReader from(body, "body", problem);
  ReflectRequest request;
  request.query.text = read_query_text(from);
  if (const auto context = from.text("context"); context && !trimmed(*context).empty())
    request.query.text += "\n\nAdditional context: " + *context;
  request.query.budget = read_budget(from, memory::RecallBudget::kLow);
  request.query.answer_tokens_max =
      static_cast<int32_t>(from.number("max_tokens", 1, kTokensMax).value_or(4096));
  request.query.tags = read_filter(from);
  read_types(from, "fact_types", request.query.types, nullptr);
  if (const json::value* types = from.value("fact_types");
      types != nullptr && types->is_array() && types->get_array().empty())
    from.fail("fact_types", "fact_types is empty; leave it out for all of them");
  if (const json::object* schema = from.object("response_schema")) {
    request.query.response_schema = *schema;
    if (schema->empty()) from.fail("response_schema", "response_schema says nothing; leave it out");
  }
  if (const json::object* include = from.object("include")) {
    ObjectReader parts(*include, from.path_of("include"), problem);
    request.with_facts = parts.object("facts") != nullptr;
    if (parts.value("tool_calls") != nullptr)
      parts.fail("tool_calls", "reflect calls no tools here; take it out");
  }
  if (problem) return *problem;
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
