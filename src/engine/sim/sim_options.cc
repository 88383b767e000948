#include "engine/sim/sim_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <iterator>
#include <limits>
#include <type_traits>
#include <variant>
#include <vector>

namespace windrow::engine::sim {
namespace {

constexpr std::string_view kPrefix = "sim:";
constexpr std::string_view kInstant = "instant";

using Field = std::variant<Duration SimOptions::*, int32_t SimOptions::*, uint64_t SimOptions::*>;

struct Key {
  std::string_view name;
  Field field;  // of times in microseconds
  uint64_t value_min = 0;
  uint64_t value_max = 0;
};

constexpr uint64_t kMinuteUs = 60'000'000;

constexpr Key kKeys[] = {
    {"step-us", &SimOptions::step, 0, kMinuteUs},
    {"row-us", &SimOptions::row, 0, kMinuteUs},
    {"prompt-token-us", &SimOptions::prompt_token, 0, kMinuteUs},
    {"pass-us", &SimOptions::pass, 0, kMinuteUs},
    {"pass-token-us", &SimOptions::pass_token, 0, kMinuteUs},
    {"load-us", &SimOptions::load, 0, 10 * kMinuteUs},
    {"memory-mb", &SimOptions::memory_mb, 0, 1'000'000},
    {"answer-tokens", &SimOptions::answer_tokens, 1, 1'000'000},
    {"vocabulary", &SimOptions::vocabulary, kVocabularyMin, 1'000'000},
    {"context", &SimOptions::context, 16, 10'000'000},
    {"embedding-size", &SimOptions::embedding_size, 1, 16'384},
    {"seed", &SimOptions::seed, 0, std::numeric_limits<uint64_t>::max()},
};

Error invalid(std::string_view text, const std::string& why) {
  return Error{ErrorKind::kInvalid, fmt::format("{}: {}", text, why)};
}

void set_instant(SimOptions& options) {
  for (const Key& key : kKeys) {
    if (const auto* time = std::get_if<Duration SimOptions::*>(&key.field)) options.** time = {};
  }
}

std::string known_keys() {
  std::vector<std::string_view> names = {kInstant};
  for (const Key& key : kKeys)
    names.push_back(key.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

Result<void> set_key(std::string_view text, std::string_view part, SimOptions& options) {
  const size_t sign = part.find('=');
  const std::string_view name = part.substr(0, sign);
  for (const Key& key : kKeys) {
    if (key.name != name) continue;
    if (sign == std::string_view::npos) {
      return invalid(text, fmt::format("{} needs a value: {}=NUMBER", name, name));
    }
    const std::string_view digits = part.substr(sign + 1);
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size() || value < key.value_min ||
        value > key.value_max) {
      return invalid(text, fmt::format("{} takes a whole number from {} to {}, not \"{}\"", name,
                                       key.value_min, key.value_max, digits));
    }
    std::visit(
        [&](auto field) {
          using Value = std::remove_reference_t<decltype(options.*field)>;
          if constexpr (std::is_same_v<Value, Duration>) {
            options.*field = std::chrono::microseconds(value);
          } else {
            options.*field = static_cast<Value>(value);
          }
        },
        key.field);
    return {};
  }
  return invalid(text,
                 fmt::format("a simulated model has no \"{}\"; it has {}", name, known_keys()));
}

int64_t us(Duration duration) {
  return std::chrono::duration_cast<std::chrono::microseconds>(duration).count();
}

}  // namespace

bool is_sim(std::string_view text) {
  return text.starts_with(kPrefix);
}

Result<SimOptions> parse_sim(std::string_view text) {
  if (!is_sim(text)) return invalid(text, "a simulated model is written sim: or sim:KEY=VALUE,...");
  SimOptions options;
  std::string_view rest = text.substr(kPrefix.size());
  while (!rest.empty()) {
    const size_t comma = rest.find(',');
    const std::string_view part = rest.substr(0, comma);
    rest.remove_prefix(comma == std::string_view::npos ? rest.size() : comma + 1);
    if (part.empty()) continue;
    if (part == kInstant) {
      set_instant(options);
    } else if (const Result<void> set = set_key(text, part, options); !set) {
      return set.error();
    }
  }
  return options;
}

std::string describe_time(const SimOptions& options) {
  return fmt::format(
      "a pass {} us, a row {} us, a prompt token {} us; embedding {} us and {} us a token",
      us(options.step), us(options.row), us(options.prompt_token), us(options.pass),
      us(options.pass_token));
}

std::string describe_answers(const SimOptions& options) {
  return fmt::format(
      "simulated, answer-tokens={}, vocabulary={}, context={}, embedding-size={}, seed={}",
      options.answer_tokens, options.vocabulary, options.context, options.embedding_size,
      options.seed);
}

}  // namespace windrow::engine::sim
