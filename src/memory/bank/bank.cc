#include "memory/bank/bank.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/value.hpp>
#include <boost/json/value_from.hpp>
#include <concepts>
#include <span>
#include <utility>

#include "base/suggest.h"
#include "base/utf8.h"
#include "json/values.h"
#include "json/writer.h"

namespace windrow::memory {
namespace {

namespace json = boost::json;

constexpr int64_t kCountMax = 1'000'000'000;

constexpr std::array<std::string_view, 3> kProfileNames = {"compact", "demo", "hindsight"};
constexpr std::array<std::string_view, 5> kExtractionModes = {"auto", "concise", "verbose",
                                                              "verbatim", "chunks"};

// What is wrong with a value: where within the member ("[0].limit", or nothing) and what it must
// be.
struct Misfit {
  std::string place;
  std::string wanted;
  const json::value* got = nullptr;
};

// One member of the configuration: its name, and how its value is read and written.
struct Member {
  std::string_view name;
  std::optional<Misfit> (*read)(const json::value&, BankConfig&);
  json::value (*write)(const BankConfig&);
};

template <auto Field>
Member flag(std::string_view name) {
  return {name,
          [](const json::value& value, BankConfig& config) -> std::optional<Misfit> {
            if (!value.is_bool()) return Misfit{"", "true or false", &value};
            config.*Field = value.get_bool();
            return std::nullopt;
          },
          [](const BankConfig& config) -> json::value { return config.*Field; }};
}

std::optional<int64_t> whole_number(const json::value& value) {
  if (value.is_int64()) return value.get_int64();
  if (value.is_uint64() && value.get_uint64() <= static_cast<uint64_t>(kCountMax))
    return static_cast<int64_t>(value.get_uint64());
  return std::nullopt;
}

template <auto Field, int64_t Min, int64_t Max>
Member count(std::string_view name) {
  return {name,
          [](const json::value& value, BankConfig& config) -> std::optional<Misfit> {
            const std::optional<int64_t> number = whole_number(value);
            if (!number || *number < Min || *number > Max)
              return Misfit{"", fmt::format("a whole number from {} to {}", Min, Max), &value};
            config.*Field = static_cast<int32_t>(*number);
            return std::nullopt;
          },
          [](const BankConfig& config) { return json::value_from(config.*Field); }};
}

template <auto Field>
Member text(std::string_view name) {
  return {name,
          [](const json::value& value, BankConfig& config) -> std::optional<Misfit> {
            if (!value.is_string()) return Misfit{"", "a string", &value};
            config.*Field = std::string(value.get_string());
            return std::nullopt;
          },
          [](const BankConfig& config) -> json::value { return json::string(config.*Field); }};
}

std::optional<size_t> place_among(const json::value& value,
                                  std::span<const std::string_view> names) {
  if (!value.is_string()) return std::nullopt;
  const auto found = std::ranges::find(names, std::string_view(value.get_string()));
  if (found == names.end()) return std::nullopt;
  return static_cast<size_t>(found - names.begin());
}

std::optional<Misfit> read_profile(const json::value& value, BankConfig& config) {
  const std::optional<size_t> place = place_among(value, kProfileNames);
  if (!place) return Misfit{"", fmt::format("one of {}", fmt::join(kProfileNames, ", ")), &value};
  config.prompt_profile = static_cast<PromptProfile>(*place);
  return std::nullopt;
}

std::optional<Misfit> read_extraction_mode(const json::value& value, BankConfig& config) {
  const std::optional<size_t> place = place_among(value, kExtractionModes);
  if (!place)
    return Misfit{"", fmt::format("one of {}", fmt::join(kExtractionModes, ", ")), &value};
  config.retain_extraction_mode = kExtractionModes[*place];
  return std::nullopt;
}

std::optional<Misfit> read_threshold(const json::value& value, BankConfig& config) {
  boost::system::error_code fault;
  const double number = value.is_number() ? value.to_number<double>(fault) : -1.0;
  if (fault || !(number >= 0.0 && number <= 1.0)) return Misfit{"", "a number from 0 to 1", &value};
  config.consolidation_dedup_threshold = number;
  return std::nullopt;
}

std::optional<Misfit> read_extra_body(const json::value& value, BankConfig& config) {
  if (!value.is_object()) return Misfit{"", "an object", &value};
  config.consolidation_extra_body = value.get_object();
  return std::nullopt;
}

std::optional<Misfit> read_scope_limit(const json::value& value, const std::string& place,
                                       ScopeLimit& limit) {
  const json::object* const object = value.if_object();
  if (object == nullptr)
    return Misfit{place, "an object like {\"scope\":[\"user:*\"],\"limit\":10}", &value};
  const json::value* const scope = object->if_contains("scope");
  const json::array* const globs = scope == nullptr ? nullptr : scope->if_array();
  if (globs == nullptr || globs->empty())
    return Misfit{place + ".scope", "an array of patterns of tags, at least one", scope};
  for (const json::value& glob : *globs) {
    if (!glob.is_string() || glob.get_string().empty())
      return Misfit{place + ".scope", "an array of strings that are not empty", &glob};
    limit.scope.emplace_back(glob.get_string());
  }
  const json::value* const number = object->if_contains("limit");
  const std::optional<int64_t> most = number == nullptr ? std::nullopt : whole_number(*number);
  if (!most || *most < -1 || *most > kCountMax)
    return Misfit{place + ".limit", fmt::format("a whole number from -1 to {}", kCountMax), number};
  limit.observations_max = *most;
  return std::nullopt;
}

std::optional<Misfit> read_scope_limits(const json::value& value, BankConfig& config) {
  const json::array* const array = value.if_array();
  if (array == nullptr)
    return Misfit{"", "an array of objects like {\"scope\":[\"user:*\"],\"limit\":10}", &value};
  std::vector<ScopeLimit> limits(array->size());
  for (size_t i = 0; i < limits.size(); ++i) {
    std::optional<Misfit> misfit = read_scope_limit((*array)[i], fmt::format("[{}]", i), limits[i]);
    if (misfit) return misfit;
  }
  config.observation_scope_limits = std::move(limits);
  return std::nullopt;
}

json::value write_scope_limits(const BankConfig& config) {
  json::array limits;
  for (const ScopeLimit& limit : config.observation_scope_limits) {
    json::array globs;
    for (const std::string& glob : limit.scope)
      globs.emplace_back(glob);
    limits.emplace_back(
        json::object{{"scope", std::move(globs)}, {"limit", limit.observations_max}});
  }
  return limits;
}

std::optional<Misfit> read_observations_max(const json::value& value, BankConfig& config) {
  const std::optional<int64_t> number = whole_number(value);
  if (!number || *number < -1 || *number > kCountMax)
    return Misfit{"", fmt::format("a whole number from -1 (no limit) to {}", kCountMax), &value};
  config.max_observations_per_scope = *number;
  return std::nullopt;
}

// The one list of members: with_overrides and to_json follow it.
const std::vector<Member>& members() {
  using C = BankConfig;
  static const std::vector<Member> list = {
      flag<&C::enable_observations>("enable_observations"),
      flag<&C::enable_auto_consolidation>("enable_auto_consolidation"),
      {"prompt_profile", read_profile,
       [](const C& config) -> json::value {
         return json::string(kProfileNames[static_cast<size_t>(config.prompt_profile)]);
       }},
      count<&C::consolidation_llm_batch_size, 1, 1000>("consolidation_llm_batch_size"),
      count<&C::consolidation_llm_parallelism, 1, 1000>("consolidation_llm_parallelism"),
      count<&C::consolidation_max_attempts, 1, 100>("consolidation_max_attempts"),
      count<&C::consolidation_max_tokens, 0, kCountMax>("consolidation_max_tokens"),
      count<&C::consolidation_source_facts_max_tokens, 0, kCountMax>(
          "consolidation_source_facts_max_tokens"),
      count<&C::consolidation_source_facts_max_tokens_per_observation, 0, kCountMax>(
          "consolidation_source_facts_max_tokens_per_observation"),
      count<&C::consolidation_max_completion_tokens, 1, kCountMax>(
          "consolidation_max_completion_tokens"),
      {"consolidation_dedup_threshold", read_threshold,
       [](const C& config) -> json::value { return config.consolidation_dedup_threshold; }},
      {"consolidation_extra_body", read_extra_body,
       [](const C& config) -> json::value { return config.consolidation_extra_body; }},
      text<&C::observations_mission>("observations_mission"),
      {"max_observations_per_scope", read_observations_max,
       [](const C& config) -> json::value { return config.max_observations_per_scope; }},
      {"observation_scope_limits", read_scope_limits, write_scope_limits},
      flag<&C::enable_observation_history>("enable_observation_history"),
      count<&C::observation_history_max_entries, 0, kCountMax>("observation_history_max_entries"),
      text<&C::retain_mission>("retain_mission"),
      {"retain_extraction_mode", read_extraction_mode,
       [](const C& config) -> json::value { return json::string(config.retain_extraction_mode); }},
      count<&C::retain_chunk_size, 100, 1'000'000>("retain_chunk_size"),
      text<&C::chat_model>("chat_model"),
      text<&C::embed_model>("embed_model"),
  };
  return list;
}

Error unknown_member(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Member& member : members())
    names.push_back(member.name);
  return Error{ErrorKind::kInvalid,
               fmt::format("\"{}\" is no member of a bank's configuration{}", name,
                           did_you_mean(name, names,
                                        fmt::format("; there are {}", fmt::join(names, ", "))))};
}

// The value itself where it is short.
std::string shown(const json::value* value) {
  if (value == nullptr) return "absent";
  if (value->is_structured()) return std::string(kind_name(*value));
  const std::string text = plain_json(*value);
  return text.size() > 60 ? std::string(kind_name(*value)) : text;
}

// Whether a text fits a pattern: `*` stands for any text, `?` for any one byte.
bool fits(std::string_view text, std::string_view glob) {
  size_t at = 0;
  size_t in_glob = 0;
  size_t star = std::string_view::npos;  // the last one seen, and where its text ends so far
  size_t star_end = 0;
  while (at < text.size()) {
    if (in_glob < glob.size() && glob[in_glob] == '*') {
      star = in_glob++;
      star_end = at;
    } else if (in_glob < glob.size() && (glob[in_glob] == '?' || glob[in_glob] == text[at])) {
      ++at;
      ++in_glob;
    } else if (star != std::string_view::npos) {
      at = ++star_end;
      in_glob = star + 1;
    } else {
      return false;
    }
  }
  return glob.find_first_not_of('*', in_glob) == std::string_view::npos;
}

// Each tag fits a pattern, and each pattern has a tag.
bool covers(const std::vector<std::string>& globs, const Scope& scope) {
  const auto has_glob = [&globs](const std::string& tag) {
    return std::ranges::any_of(globs, [&tag](const std::string& glob) { return fits(tag, glob); });
  };
  const auto has_tag = [&scope](const std::string& glob) {
    return std::ranges::any_of(scope.list(),
                               [&glob](const std::string& tag) { return fits(tag, glob); });
  };
  return std::ranges::all_of(scope.list(), has_glob) && std::ranges::all_of(globs, has_tag);
}

}  // namespace

Result<BankId> bank_id_from(std::string_view text) {
  const auto refused = [](std::string_view why) {
    return Error{ErrorKind::kInvalid,
                 fmt::format("the id of a bank {}; use 1 to {} bytes of UTF-8 without control "
                             "characters",
                             why, kBankIdBytesMax)};
  };
  if (text.empty()) return refused("is empty");
  if (text.size() > kBankIdBytesMax) return refused(fmt::format("has {} bytes", text.size()));
  const std::optional<std::u32string> characters = code_points(text);
  if (!characters) return refused("is not UTF-8");
  const auto is_control = [](char32_t c) { return c < 0x20 || (c >= 0x7F && c < 0xA0); };
  if (std::ranges::any_of(*characters, is_control)) return refused("has a control character");
  return BankId{std::string(text)};
}

Result<BankConfig> with_overrides(const BankConfig& defaults, const json::object& overrides) {
  BankConfig config = defaults;
  for (const json::key_value_pair& override : overrides) {
    const std::string_view name = override.key();
    const auto member = std::ranges::find(members(), name, &Member::name);
    if (member == members().end()) return unknown_member(name);
    if (override.value().is_null()) continue;
    const std::optional<Misfit> misfit = member->read(override.value(), config);
    if (misfit) {
      return Error{ErrorKind::kInvalid, fmt::format("{}{} must be {}, not {}", name, misfit->place,
                                                    misfit->wanted, shown(misfit->got))};
    }
  }
  return config;
}

json::object to_json(const BankConfig& config) {
  json::object object;
  for (const Member& member : members())
    object.emplace(member.name, member.write(config));
  return object;
}

int64_t observations_max_of(const BankConfig& config, const Scope& scope) {
  if (scope.is_empty()) return -1;
  for (const ScopeLimit& limit : config.observation_scope_limits)
    if (covers(limit.scope, scope)) return limit.observations_max;
  return config.max_observations_per_scope;
}

}  // namespace windrow::memory
