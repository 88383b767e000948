#include "app/settings/upstream_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "upstream/upstream_backend.h"

namespace windrow::app {
namespace {

constexpr int32_t kConcurrencyMax = 65'536;

using Aliases = std::map<std::string, std::string, std::less<>>;

Error invalid(std::string message) {
  return Error{ErrorKind::kInvalid, std::move(message)};
}

// Checks that the key fits into a header.
Result<std::string> checked_key(std::string key, const std::string& place) {
  const auto is_space = [](char byte) { return byte == '\n' || byte == '\r' || byte == ' '; };
  while (!key.empty() && is_space(key.back()))
    key.pop_back();
  if (key.empty()) return invalid(fmt::format("{} is empty; it must hold the server's key", place));
  const auto printable = [](char byte) { return byte > ' ' && byte < '\x7f'; };
  if (!std::ranges::all_of(key, printable)) {
    return invalid(fmt::format(
        "{} does not hold an API key: it has spaces, line ends or characters that are not ASCII",
        place));
  }
  return key;
}

Result<Aliases> aliases_of(const std::vector<std::string>& texts) {
  Aliases aliases;
  for (const std::string& text : texts) {
    const size_t sign = text.find('=');
    if (sign == std::string::npos || sign == 0 || sign + 1 == text.size()) {
      return invalid(fmt::format(
          "--model-alias {}: write NAME=THEIRS, the model as rows name it and as the server does",
          text));
    }
    aliases[text.substr(0, sign)] = text.substr(sign + 1);
  }
  return aliases;
}

const UpstreamEntry* entry_of(const std::vector<UpstreamEntry>& entries, const http::Url& base) {
  for (const UpstreamEntry& entry : entries) {
    const Result<http::Url> url = http::parse_url(entry.url);
    if (url && upstream::with_version(*url) == base) return &entry;
  }
  return nullptr;
}

// The number in the file, else that of the flags.
Result<std::optional<int32_t>> concurrency_of(const UpstreamEntry* entry, const Settings& values) {
  const bool own = entry != nullptr && !entry->concurrency.empty();
  const std::string place = own ? entry->place + ": concurrency" : "--concurrency";
  const std::string& text = own ? entry->concurrency : values.concurrency;
  Result<std::optional<int32_t>> concurrency = parse_concurrency(text, place);
  if (!concurrency) return concurrency.error();
  const bool own_serial = entry != nullptr && entry->serial.has_value();
  if (!(own_serial ? *entry->serial : values.serial)) return concurrency;
  // A file may say that one server is serial, whatever the flags say about all.
  if (concurrency->value_or(1) != 1 && (own || !own_serial)) {
    return invalid(fmt::format(
        "{} {} and {} contradict each other: a serial server gets one request at a time; take one "
        "of them out",
        place, text, own_serial ? "serial = true" : "--serial"));
  }
  return std::optional<int32_t>(1);
}

Result<std::string> key_of(const UpstreamEntry* entry, const Settings& values,
                           const Environment& environment) {
  if (entry != nullptr && !entry->api_key.empty() && !entry->api_key_env.empty()) {
    return invalid(
        fmt::format("{}: api-key and api-key-env are both there; keep one of them", entry->place));
  }
  if (entry != nullptr && !entry->api_key.empty())
    return checked_key(entry->api_key, entry->place + ": api-key");
  if (entry != nullptr && !entry->api_key_env.empty())
    return key_of_variable(entry->api_key_env, entry->place + ": api-key-env", environment);
  if (!values.api_key_env.empty())
    return key_of_variable(values.api_key_env, "--api-key-env", environment);
  return std::string();
}

Result<fleet::UpstreamChoice> choice_of(const std::string& text, const ResolvedSettings& settings,
                                        const Aliases& aliases, const Environment& environment) {
  const Result<http::Url> url = http::parse_url(text);
  if (!url) return url.error().in(fmt::format("--upstream {}", text));
  for (const std::string_view route : {"/completions", "/embeddings", "/rerank", "/models"}) {
    if (!url->target.ends_with(route)) continue;
    return invalid(
        fmt::format("--upstream {}: this is the URL of one route; write the base URL, "
                    "which usually ends with /v1, as in http://host:8000/v1",
                    text));
  }
  const Settings& values = settings.values;
  fleet::UpstreamChoice choice{.server = {.base = upstream::with_version(*url), .aliases = aliases},
                               .concurrency = {},
                               .requests_per_minute = values.requests_per_minute,
                               .tokens_per_minute = values.tokens_per_minute};
  choice.server.request_timeout = std::chrono::seconds(values.request_timeout_s);
  const UpstreamEntry* const entry = entry_of(settings.upstreams, choice.server.base);
  const bool own = entry != nullptr;

  Result<std::string> key = key_of(entry, values, environment);
  if (!key) return key.error();
  choice.server.api_key = *std::move(key);
  const Result<std::optional<int32_t>> concurrency = concurrency_of(entry, values);
  if (!concurrency) return concurrency.error();
  choice.concurrency = *concurrency;
  choice.server.in_flight = concurrency->value_or(1);
  if (own && entry->requests_per_minute) choice.requests_per_minute = *entry->requests_per_minute;
  if (own && entry->tokens_per_minute) choice.tokens_per_minute = *entry->tokens_per_minute;
  if (own) {
    for (const auto& [name, theirs] : entry->models)
      choice.server.aliases[name] = theirs;
  }
  return choice;
}

}  // namespace

Result<std::string> key_of_variable(const std::string& name, const std::string& place,
                                    const Environment& environment) {
  if (!environment.contains(name)) {
    return invalid(
        fmt::format("{} {}: there is no environment variable of this name; export {}=... first "
                    "(the flag takes the name, not the key)",
                    place, name, name));
  }
  return checked_key(variable(environment, name), fmt::format("{} {}", place, name));
}

Result<std::optional<int32_t>> parse_concurrency(std::string_view text, std::string_view place) {
  if (text == "auto") return std::optional<int32_t>();
  int32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 1 ||
      number > kConcurrencyMax) {
    return invalid(fmt::format("{}: {} must be auto or a whole number from 1 to {}", place,
                               text.empty() ? "it" : text, kConcurrencyMax));
  }
  return std::optional(number);
}

Result<std::vector<fleet::UpstreamChoice>> upstream_choices(const ResolvedSettings& settings,
                                                            const Environment& environment) {
  Result<Aliases> aliases = aliases_of(settings.values.model_aliases);
  if (!aliases) return aliases.error();
  std::vector<fleet::UpstreamChoice> choices;
  for (const std::string& text : settings.values.upstreams) {
    Result<fleet::UpstreamChoice> choice = choice_of(text, settings, *aliases, environment);
    if (!choice) return choice.error();
    const bool twice = std::ranges::any_of(choices, [&](const fleet::UpstreamChoice& other) {
      return other.server.base == choice->server.base;
    });
    if (twice) {
      return invalid(
          fmt::format("--upstream {}: this server is named twice; once is enough, and "
                      "--concurrency says how many requests it gets at a time",
                      text));
    }
    choices.push_back(*std::move(choice));
  }
  return choices;
}

}  // namespace windrow::app
