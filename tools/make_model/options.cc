#include "make_model/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace windrow::make_model {

namespace {

struct ShapeFlag {
  std::string_view name;
  int64_t Shape::* field;
  std::optional<Family> only;  // the one family that has it
};

constexpr std::array kShapeFlags = {
    ShapeFlag{"--layers", &Shape::layers, {}},
    ShapeFlag{"--embd", &Shape::embd, {}},
    ShapeFlag{"--heads", &Shape::heads, {}},
    ShapeFlag{"--kv-heads", &Shape::kv_heads, {}},
    ShapeFlag{"--head-dim", &Shape::head_dim, {}},
    ShapeFlag{"--ff", &Shape::ff, {}},
    ShapeFlag{"--vocab", &Shape::vocab, {}},
    ShapeFlag{"--ctx", &Shape::ctx, {}},
    ShapeFlag{"--window", &Shape::window, Family::kSwa},
};

using Setting = std::pair<std::string_view, std::string_view>;  // flag, value

Error invalid(std::string message) {
  return {ErrorKind::kInvalid, std::move(message)};
}

template <class Number>
Result<Number> parse_number(const Setting& setting) {
  const auto [flag, text] = setting;
  Number number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc() || end != text.data() + text.size()) {
    return invalid(fmt::format("{} takes a whole number, not '{}'", flag, text));
  }
  return number;
}

Result<size_t> parse_name(const Setting& setting, std::span<const std::string_view> names) {
  const auto [flag, text] = setting;
  const auto found = std::find(names.begin(), names.end(), text);
  if (found == names.end()) {
    return invalid(
        fmt::format("{} does not know '{}': give one of {}", flag, text, fmt::join(names, ", ")));
  }
  return static_cast<size_t>(found - names.begin());
}

Result<std::optional<std::string>> read_template(std::string_view value) {
  if (value == "none") return std::optional<std::string>();
  if (value == "chatml") return std::optional(std::string(chatml()));
  std::ifstream file{std::string(value)};
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file) {
    return Error{ErrorKind::kIo, fmt::format("--template {} cannot be read: give chatml, none or "
                                             "the name of a file",
                                             value)};
  }
  return std::optional(std::move(text));
}

// Cuts the arguments into flags and values; a flag counts once.
Result<std::vector<Setting>> read_settings(std::span<const char* const> arguments) {
  std::vector<Setting> settings;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view flag = arguments[i];
    const bool known =
        flag == "--family" || flag == "--type" || flag == "--seed" || flag == "--template" ||
        flag == "--pooling" || flag == "--tied" || flag == "-o" ||
        std::any_of(kShapeFlags.begin(), kShapeFlags.end(),
                    [&](const ShapeFlag& shape_flag) { return shape_flag.name == flag; });
    if (!known) return invalid(fmt::format("unknown argument '{}': --help lists the flags", flag));
    if (std::any_of(settings.begin(), settings.end(),
                    [&](const Setting& setting) { return setting.first == flag; })) {
      return invalid(fmt::format("{} is given twice", flag));
    }
    if (flag == "--tied") {
      settings.emplace_back(flag, "");
      continue;
    }
    if (++i == arguments.size()) return invalid(fmt::format("{} needs a value", flag));
    settings.emplace_back(flag, arguments[i]);
  }
  return settings;
}

Result<void> apply_shape(const Setting& setting, ModelSpec& spec) {
  const auto flag =
      std::find_if(kShapeFlags.begin(), kShapeFlags.end(),
                   [&](const ShapeFlag& shape_flag) { return shape_flag.name == setting.first; });
  if (flag->only && *flag->only != spec.family) {
    return invalid(fmt::format("{} is for --family {} only", flag->name,
                               family_names()[static_cast<size_t>(*flag->only)]));
  }
  const Result<int64_t> number = parse_number<int64_t>(setting);
  if (!number) return number.error();
  spec.shape.*flag->field = *number;
  return {};
}

Result<void> apply(const Setting& setting, Options& options) {
  const auto [flag, value] = setting;
  if (flag == "-o") {
    options.output = value;
  } else if (flag == "--tied") {
    options.spec.tied = true;
  } else if (flag == "--type") {
    const Result<size_t> type = parse_name(setting, type_names());
    if (!type) return type.error();
    options.spec.type = static_cast<WeightType>(*type);
  } else if (flag == "--pooling") {
    const Result<size_t> pooling = parse_name(setting, pooling_names());
    if (!pooling) return pooling.error();
    options.spec.pooling = static_cast<Pooling>(*pooling);
  } else if (flag == "--seed") {
    const Result<uint64_t> seed = parse_number<uint64_t>(setting);
    if (!seed) return seed.error();
    options.spec.seed = *seed;
  } else if (flag == "--template") {
    Result<std::optional<std::string>> text = read_template(value);
    if (!text) return text.error();
    options.spec.chat_template = *std::move(text);
  } else if (flag != "--family") {
    return apply_shape(setting, options.spec);
  }
  return {};
}

}  // namespace

std::string_view help_text() {
  return R"(make_model: writes a small GGUF model with random weights, the same for the same flags.

usage: make_model --family FAMILY [options] -o FILE

  --family FAMILY   llama, qwen3, moe, hybrid, swa or bert
  --type TYPE       weights: f32 (default), f16 or q8_0
  --seed N          another model of the same shape (default 1)
  --template T      chat template: chatml, none or the name of a file with one
                    (default chatml; none for bert)
  --pooling P       how embeddings are pooled: mean (bert's default), cls, last, rank (bert and
                    qwen3: adds a classification head) or unsaid (the default of the others)
  --tied            no output head of its own: the token embedding serves as one
  --layers N --embd N --heads N --kv-heads N --head-dim N --ff N --vocab N --ctx N
                    another shape than the family's tiny default (ff: of one expert for moe)
  --window N        swa only: positions a sliding-window layer sees (default 32)
  -o FILE           where to write it
  --help            this text

The shape of Qwen3-0.6B (about 640 MB):
  make_model --family qwen3 --type q8_0 --tied --layers 28 --embd 1024 --heads 16 --kv-heads 8 \
    --head-dim 128 --ff 3072 --vocab 151936 --ctx 40960 -o qwen3-0.6b.gguf

The shape of all-MiniLM-L6 (25 MB):
  make_model --family bert --type q8_0 --layers 6 --embd 384 --heads 12 --kv-heads 12 \
    --head-dim 32 --ff 1536 --vocab 30522 --ctx 512 -o minilm.gguf
)";
}

Result<Options> parse_options(std::span<const char* const> arguments) {
  for (const std::string_view argument : arguments) {
    if (argument == "--help" || argument == "-h")
      return Options{.help = true, .spec = {}, .output = {}};
  }
  Result<std::vector<Setting>> settings = read_settings(arguments);
  if (!settings) return settings.error();
  const auto value_of = [&](std::string_view flag) {
    return std::find_if(settings->begin(), settings->end(),
                        [&](const Setting& setting) { return setting.first == flag; });
  };

  // The family comes first: the other flags change its defaults.
  const auto family_setting = value_of("--family");
  if (family_setting == settings->end()) {
    return invalid(
        fmt::format("--family is missing: give one of {}", fmt::join(family_names(), ", ")));
  }
  const Result<size_t> family = parse_name(*family_setting, family_names());
  if (!family) return family.error();

  Options options;
  options.spec.family = static_cast<Family>(*family);
  options.spec.shape = default_shape(options.spec.family);
  options.spec.pooling = default_pooling(options.spec.family);
  if (options.spec.family != Family::kBert) options.spec.chat_template = std::string(chatml());
  for (const Setting& setting : *settings) {
    if (Result<void> applied = apply(setting, options); !applied) return applied.error();
  }
  if (options.output.empty()) return invalid("-o is missing: name the file to write");
  if (Result<void> checked = check(options.spec); !checked) return checked.error();
  return options;
}

}  // namespace windrow::make_model
