// Requests that search: recall and reflect (memory_requests.h).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <limits>
#include <utility>

#include "api/memory/memory_requests.h"
#include "api/memory/object_reader.h"
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

// --- parts ---

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

}  // namespace windrow::api
