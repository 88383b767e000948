#include "session/service/session_config_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "json/parse.h"
#include "json/values.h"

namespace windrow::session {

namespace json = boost::json;

namespace {

constexpr int64_t kLayersMax = 10'000;
constexpr int64_t kTopKMax = 1'000'000;

constexpr std::array<std::string_view, 12> kMembers = {
    "evaluation", "temperature", "top_p",   "top_k",          "history",      "match",
    "priority",   "orphans",     "retries", "routed_experts", "indexer_topk", "moe_layers"};

llm::Failure refused_option(std::string message, std::string_view param) {
  return {.code = "invalid_value", .message = std::move(message), .param = std::string(param)};
}

llm::Failure must_be(std::string_view name, std::string_view what, const json::value& value) {
  return refused_option(fmt::format("{} must be {}, not {}", name, what, json::serialize(value)),
                        name);
}

std::string unknown_member(std::string_view name) {
  std::string list;
  for (const std::string_view member : kMembers) {
    if (!list.empty()) list += ", ";
    list += member;
  }
  return fmt::format("{} is no option of a session; there are {}", name, list);
}

std::optional<double> number_of(const json::value& value) {
  if (value.is_double()) return value.get_double();
  if (value.is_int64()) return static_cast<double>(value.get_int64());
  return std::nullopt;
}

class Reader {
 public:
  explicit Reader(SessionConfig& config) : config_(config) {}

  std::optional<llm::Failure> read(std::string_view name, const json::value& value) {
    if (name == "evaluation") return read_flag(name, value, config_.evaluation);
    if (name == "routed_experts") return read_flag(name, value, config_.routed_experts);
    if (name == "indexer_topk") return read_flag(name, value, config_.indexer_topk);
    if (name == "temperature") return read_number(name, value, config_.temperature);
    if (name == "top_p") return read_number(name, value, config_.top_p);
    if (name == "top_k") return read_top_k(value);
    if (name == "moe_layers") return read_layers(value);
    if (name == "history") return read_history(value);
    if (name == "match") return read_match(value);
    if (name == "orphans") return read_orphans(value);
    if (name == "priority") return read_priority(value);
    if (name == "retries") return read_retries(value);
    return refused_option(unknown_member(name), name);
  }

 private:
  static std::optional<llm::Failure> read_flag(std::string_view name, const json::value& value,
                                               bool& flag) {
    if (!value.is_bool()) return must_be(name, "true or false", value);
    flag = value.get_bool();
    return std::nullopt;
  }

  static std::optional<llm::Failure> read_number(std::string_view name, const json::value& value,
                                                 std::optional<double>& number) {
    if (value.is_null()) return std::nullopt;
    number = number_of(value);
    if (!number || !std::isfinite(*number) || *number < 0)
      return must_be(name, "a number of 0 or more", value);
    return std::nullopt;
  }

  // 40.0 is 40: trainers write it as a float.
  std::optional<llm::Failure> read_top_k(const json::value& value) {
    if (value.is_null()) return std::nullopt;
    const std::optional<double> number = number_of(value);
    if (!number || *number != std::floor(*number) || *number < -1 || *number > kTopKMax)
      return must_be("top_k", "a whole number of -1 or more", value);
    config_.top_k = static_cast<int64_t>(*number);
    return std::nullopt;
  }

  std::optional<llm::Failure> read_layers(const json::value& value) {
    if (!value.is_int64() || value.get_int64() < 1 || value.get_int64() > kLayersMax)
      return must_be("moe_layers", "a whole number from 1 to 10000", value);
    config_.routed_layers = static_cast<size_t>(value.get_int64());
    return std::nullopt;
  }

  std::optional<llm::Failure> read_history(const json::value& value) {
    if (value == "linear") {
      config_.history = HistoryKind::kLinear;
    } else if (value == "tree") {
      config_.history = HistoryKind::kTree;
    } else {
      return must_be("history", "\"linear\" or \"tree\"", value);
    }
    return std::nullopt;
  }

  std::optional<llm::Failure> read_match(const json::value& value) {
    const auto rule = value.is_string() ? match_rule_of(value.get_string()) : std::nullopt;
    if (!rule)
      return must_be("match", "\"strict\", \"loose_tool_call\" or \"role_content_only\"", value);
    config_.match = *rule;
    return std::nullopt;
  }

  std::optional<llm::Failure> read_orphans(const json::value& value) {
    if (value == "stop") {
      config_.orphans = OrphanRule::kStop;
    } else if (value == "commit") {
      config_.orphans = OrphanRule::kCommit;
    } else {
      return must_be("orphans", "\"stop\" or \"commit\"", value);
    }
    return std::nullopt;
  }

  std::optional<llm::Failure> read_retries(const json::value& value) {
    const auto rule = value.is_string() ? retry_rule_of(value.get_string()) : std::nullopt;
    if (!rule) {
      return must_be("retries", "\"keep_all\", \"drop_retries\" or \"drop_retries_same_prompt\"",
                     value);
    }
    config_.retries = *rule;
    return std::nullopt;
  }

  std::optional<llm::Failure> read_priority(const json::value& value) {
    if (value == "interactive") {
      config_.priority = llm::Priority::kInteractive;
    } else if (value == "normal") {
      config_.priority = llm::Priority::kNormal;
    } else if (value == "batch") {
      config_.priority = llm::Priority::kBatch;
    } else {
      return must_be("priority", "\"interactive\", \"normal\" or \"batch\"", value);
    }
    return std::nullopt;
  }

  SessionConfig& config_;
};

}  // namespace

std::string_view to_string(HistoryKind kind) {
  return kind == HistoryKind::kTree ? "tree" : "linear";
}

std::variant<SessionConfig, llm::Failure> read_session_config(std::string_view text,
                                                              SessionConfig defaults,
                                                              llm::Priority priority_max) {
  SessionConfig config = defaults;
  if (!text.empty()) {
    auto parsed = parse_json(text);
    if (const auto* fault = std::get_if<JsonFault>(&parsed)) {
      return refused_option(
          fmt::format("invalid JSON body: {} at byte {}", fault->reason, fault->byte), "");
    }
    const auto& value = std::get<json::value>(parsed);
    if (!value.is_object()) {
      return refused_option(
          fmt::format("the options of a session must be a JSON object, not {}", kind_name(value)),
          "");
    }
    Reader reader(config);
    for (const auto& [name, member] : value.get_object()) {
      if (auto failure = reader.read(name, member)) return *std::move(failure);
    }
  }
  config.priority = std::max(config.priority, priority_max);
  if (config.evaluation) {
    config.routed_experts = false;
    config.indexer_topk = false;
  }
  return config;
}

}  // namespace windrow::session
