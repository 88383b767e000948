// Requests about banks, and the query strings of lists (memory_requests.h).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "api/memory/memory_requests.h"
#include "api/memory/object_reader.h"
#include "json/values.h"

namespace windrow::api {

namespace json = boost::json;

namespace {

llm::Failure bad_request(std::string message) {
  llm::Failure failure = unprocessable("", std::move(message));
  failure.status = 400;
  return failure;
}

// Members of Hindsight's banks that are settings of BankConfig here.
constexpr auto kBankSettings = std::to_array<std::string_view>(
    {"retain_mission", "retain_extraction_mode", "retain_chunk_size", "enable_observations",
     "observations_mission"});

// Parts of a recall that this server does not have: they may be turned off.
constexpr auto kAbsentParts = std::to_array<std::string_view>(
    {"enable_temporal_retrieval", "enable_graph_retrieval", "enable_reranking"});

constexpr auto kAbsentSettings =
    std::to_array<std::string_view>({"retain_custom_instructions", "retain_structured_chunk_size"});

constexpr auto kTraits = std::to_array<std::string_view>({"skepticism", "literalism", "empathy"});
constexpr std::string_view kTraitPrefix = "disposition_";

json::object read_traits(ObjectReader& from, std::string_view prefix) {
  json::object traits;
  for (const std::string_view trait : kTraits) {
    if (const auto value = from.number(fmt::format("{}{}", prefix, trait), 1, 5))
      traits[trait] = *value;
  }
  return traits;
}

json::object read_whole_disposition(ObjectReader& from) {
  const json::object* object = from.object("disposition");
  if (object == nullptr) return {};
  ObjectReader members(*object, from.path_of("disposition"), from.problem());
  json::object traits = read_traits(members, "");
  for (const std::string_view trait : kTraits) {
    if (!traits.contains(trait))
      members.fail(trait, fmt::format("{} is missing; it must be from 1 to 5", trait));
  }
  return traits;
}

// reflect_mission, else mission, else background: they are one and the same.
std::optional<std::string> read_mission(ObjectReader& from) {
  std::optional<std::string> mission;
  for (const char* name : {"reflect_mission", "mission", "background"}) {
    auto text = from.text(name);
    if (text && (!mission || mission->empty())) mission = std::move(text);
  }
  return mission;
}

// Nothing: the part may be named so, because it is turned off.
std::optional<std::string> absence_of(std::string_view name, const json::value& value) {
  if (std::ranges::find(kAbsentParts, name) != kAbsentParts.end()) {
    if (value.is_bool() && !value.get_bool()) return std::nullopt;
    return fmt::format("{} can only be false: this server's recall has no such part", name);
  }
  return fmt::format("this server has no {}; take it out", name);
}

bool is_absent(std::string_view name) {
  return std::ranges::find(kAbsentParts, name) != kAbsentParts.end() ||
         std::ranges::find(kAbsentSettings, name) != kAbsentSettings.end();
}

// "HINDSIGHT_API_RETAIN_MISSION" -> "retain_mission".
std::string field_name(std::string_view key) {
  constexpr std::string_view kPrefix = "HINDSIGHT_API_";
  if (!key.starts_with(kPrefix)) return std::string(key);
  std::string name(key.substr(kPrefix.size()));
  for (char& letter : name)
    letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return name;
}

llm::Failure wrong_parameter(std::string_view name, std::string message) {
  return unprocessable(fmt::format("query.{}", name), std::move(message));
}

llm::Problem read_page_number(const Query& query, std::string_view name, int64_t min, int64_t max,
                              int64_t& value) {
  const auto text = query.text(name);
  if (query.number(name, value, value)) {
    return wrong_parameter(
        name, fmt::format("{} is \"{}\"; it must be a whole number", name, llm::shown(*text)));
  }
  if (value >= min && value <= max) return std::nullopt;
  return wrong_parameter(name,
                         fmt::format("{} is {}; it must be from {} to {}", name, value, min, max));
}

llm::Problem read_state(const Query& query, memory::MemoryQuery& wanted) {
  if (const auto text = query.text("consolidation_state")) {
    const std::string state = lower_case(*text);
    if (state == "pending")
      wanted.consolidation = memory::ConsolidationState::kPending;
    else if (state == "done")
      wanted.consolidation = memory::ConsolidationState::kDone;
    else if (state == "failed")
      wanted.consolidation = memory::ConsolidationState::kFailed;
    else
      return bad_request(fmt::format(
          "consolidation_state is \"{}\"; it must be pending, done or failed", llm::shown(*text)));
  }
  if (const auto state = query.text("state")) {
    if (*state != "valid" && *state != "invalidated")
      return bad_request(
          fmt::format("state is \"{}\"; it must be valid or invalidated", llm::shown(*state)));
    wanted.valid = *state == "valid";
  }
  return std::nullopt;
}

}  // namespace

memory::Reply<memory::BankId> read_bank_id(std::string_view part) {
  auto id = memory::bank_id_from(part);
  if (!id) return unprocessable("path.bank_id", id.error().message);
  return *std::move(id);
}

llm::Problem check_uuid(std::string_view text, std::string_view name) {
  constexpr std::string_view kForm = "00000000-0000-0000-0000-000000000000";
  const bool is_uuid =
      text.size() == kForm.size() && std::ranges::equal(text, kForm, [](char given, char form) {
        return form == '-' ? given == '-' : std::isxdigit(static_cast<unsigned char>(given)) != 0;
      });
  if (is_uuid) return std::nullopt;
  return bad_request(fmt::format("Invalid {}: '{}' is not a valid UUID", name, llm::shown(text)));
}

memory::Reply<json::object> read_bank_change(const json::object& body) {
  llm::Problem problem;
  ObjectReader from(body, "body", problem);
  json::object change;
  if (const auto name = from.text("name")) change["name"] = *name;
  if (const auto mission = read_mission(from)) change["mission"] = *mission;
  json::object traits = read_whole_disposition(from);
  for (const auto& [trait, value] : read_traits(from, kTraitPrefix))
    traits[trait] = value;
  if (!traits.empty()) change["disposition"] = std::move(traits);
  for (const std::string_view name : kBankSettings) {
    if (const json::value* value = from.value(name)) change[name] = *value;
  }
  for (const auto& [name, value] : body) {
    if (value.is_null() || !is_absent(name)) continue;
    if (const auto why = absence_of(name, value)) from.fail(name, *why);
  }
  if (problem) return *problem;
  return change;
}

memory::Reply<json::object> read_disposition(const json::object& body) {
  llm::Problem problem;
  ObjectReader from(body, "body", problem);
  if (from.value("disposition") == nullptr)
    from.fail("disposition",
              "disposition is missing; it must have skepticism, literalism and empathy");
  json::object traits = read_whole_disposition(from);
  if (problem) return *problem;
  return json::object{{"disposition", std::move(traits)}};
}

memory::Reply<ConfigChange> read_config_change(const json::object& body) {
  llm::Problem problem;
  ObjectReader from(body, "body", problem);
  const json::object* updates = from.object("updates");
  if (updates == nullptr)
    from.fail("updates", "updates is missing; it must be an object of settings");
  if (problem) return *problem;
  ConfigChange change;
  json::object traits;
  for (const auto& [key, value] : *updates) {
    const std::string name = field_name(key);
    if (name == "reflect_mission") {
      if (!value.is_null() && !value.is_string())
        return bad_request(
            fmt::format("reflect_mission must be a string, not {}", kind_name(value)));
      change.bank["mission"] = value.is_null() ? json::value("") : value;
    } else if (name.starts_with(kTraitPrefix)) {
      const std::string trait = name.substr(kTraitPrefix.size());
      json::object one{{trait, value}};
      ObjectReader reader(one, "updates", problem);
      const auto number = reader.number(trait, 1, 5);
      if (problem || std::ranges::find(kTraits, trait) == kTraits.end())
        return bad_request(
            fmt::format("{} cannot be set so; disposition_skepticism, disposition_literalism and "
                        "disposition_empathy must be from 1 to 5",
                        llm::shown(name)));
      traits[trait] = number.value_or(3);
    } else if (is_absent(name) && !value.is_null()) {
      if (const auto why = absence_of(name, value)) return bad_request(*why);
    } else if (!is_absent(name)) {
      change.overrides[name] = value;
    }
  }
  if (!traits.empty()) change.bank["disposition"] = std::move(traits);
  return change;
}

memory::Reply<PageQuery> read_page(const Query& query, int64_t limit_default, int64_t limit_min,
                                   int64_t limit_max) {
  PageQuery page{.limit = limit_default};
  if (auto problem = read_page_number(query, "limit", limit_min, limit_max, page.limit))
    return *std::move(problem);
  constexpr int64_t kOffsetMax = int64_t{1} << 40;
  if (auto problem = read_page_number(query, "offset", 0, kOffsetMax, page.offset))
    return *std::move(problem);
  return page;
}

memory::Reply<memory::TagFilter> read_tag_filter(const Query& query,
                                                 memory::TagsMatch match_default) {
  memory::TagFilter filter{.tags = memory::Tags(query.texts("tags")), .match = match_default};
  const auto match = query.text("tags_match");
  if (!match) return filter;
  const auto named = memory::tags_match_named(*match);
  if (!named) {
    return wrong_parameter(
        "tags_match",
        fmt::format("tags_match is \"{}\"; it must be any, all, any_strict, all_strict or exact",
                    llm::shown(*match)));
  }
  filter.match = *named;
  return filter;
}

memory::Reply<memory::MemoryQuery> read_memory_query(const Query& query) {
  memory::MemoryQuery wanted;
  const auto page = read_page(query, 100, 0);
  if (const auto* failure = std::get_if<llm::Failure>(&page)) return *failure;
  wanted.limit = std::get<PageQuery>(page).limit;
  wanted.offset = std::get<PageQuery>(page).offset;
  auto tags = read_tag_filter(query, memory::TagsMatch::kAny);
  if (const auto* failure = std::get_if<llm::Failure>(&tags)) return *failure;
  wanted.tags = std::get<memory::TagFilter>(std::move(tags));
  if (const auto type = query.text("type")) {
    const auto named = memory::memory_type_named(*type);
    if (!named)
      return wrong_parameter("type", fmt::format("type is \"{}\"; it must be world, experience or "
                                                 "observation",
                                                 llm::shown(*type)));
    wanted.types = {*named};
  }
  wanted.text = query.text("q").value_or("");
  wanted.document_id = query.text("document_id").value_or("");
  if (auto problem = read_state(query, wanted)) return *std::move(problem);
  if (query.text("entity_id"))
    return bad_request("memories cannot be listed by entity_id here; use q with the name");
  return wanted;
}

memory::Reply<OperationQuery> read_operation_query(const Query& query) {
  OperationQuery wanted;
  const auto page = read_page(query, 20, 1, 100);
  if (const auto* failure = std::get_if<llm::Failure>(&page)) return *failure;
  wanted.page = std::get<PageQuery>(page);
  if (const auto status = query.text("status")) {
    wanted.status = memory::operation_status_named(*status);
    if (!wanted.status) wanted.none = true;
  }
  if (const auto type = query.text("type")) {
    wanted.type = memory::operation_type_named(*type);
    if (!wanted.type) wanted.none = true;
  }
  return wanted;
}

bool tag_matches(std::string_view pattern, std::string_view tag) {
  if (pattern.empty()) return true;
  const std::string wanted = lower_case(pattern);
  const std::string text = lower_case(tag);
  // The last star, and what it has taken so far: there to go back to.
  size_t star = std::string::npos;
  size_t taken = 0;
  size_t at = 0;
  size_t i = 0;
  while (i < text.size()) {
    if (at < wanted.size() && wanted[at] == '*') {
      star = at++;
      taken = i;
    } else if (at < wanted.size() && wanted[at] == text[i]) {
      ++at;
      ++i;
    } else if (star != std::string::npos) {
      at = star + 1;
      i = ++taken;
    } else {
      return false;
    }
  }
  return wanted.find_first_not_of('*', at) == std::string::npos;
}

}  // namespace windrow::api
