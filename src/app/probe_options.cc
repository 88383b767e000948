#include "app/probe_options.h"

#include <fmt/format.h>

#include <array>
#include <charconv>

namespace windrow::app {
namespace {

using Text = std::string_view;

// Each is a connection, and many systems allow a process 1024 files.
constexpr int64_t kProbeInFlightMax = 512;
constexpr size_t kNumbersMax = 32;

Result<void> set_probe_number(Text text, int64_t value_min, int64_t value_max, int64_t& target) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < value_min ||
      value > value_max) {
    return Error{ErrorKind::kInvalid, fmt::format("\"{}\" is not a whole number from {} to {}",
                                                  text, value_min, value_max)};
  }
  target = value;
  return {};
}

Result<void> set_numbers(Text text, std::vector<int32_t>& target) {
  std::vector<int32_t> numbers;
  for (bool more = true; more;) {
    const size_t comma = text.find(',');
    more = comma != Text::npos;
    int64_t number = 0;
    if (const Result<void> set =
            set_probe_number(text.substr(0, comma), 1, kProbeInFlightMax, number);
        !set)
      return set;
    numbers.push_back(static_cast<int32_t>(number));
    if (more) text.remove_prefix(comma + 1);
  }
  if (numbers.size() > kNumbersMax) {
    return Error{ErrorKind::kInvalid,
                 fmt::format("{} numbers are more than {}", numbers.size(), kNumbersMax)};
  }
  target = std::move(numbers);
  return {};
}

const std::array<ProbeFlag, 10> kProbeFlags = {{
    {.group = "Upstream",
     .name = "upstream",
     .value_name = "URL",
     .help = "base URL of a server with OpenAI's API, as http://host:8000/v1",
     .set = [](Text text, ProbeCommand& command) -> Result<void> {
       command.upstream = text;
       return {};
     }},
    {.group = "Upstream",
     .name = "model",
     .value_name = "NAME",
     .help = "the model to ask (default: the rows' own, else the only one there is)",
     .set = [](Text text, ProbeCommand& command) -> Result<void> {
       command.model = text;
       return {};
     }},
    {.group = "Upstream",
     .name = "api-key-env",
     .value_name = "NAME",
     .help = "the variable that holds the key",
     .set = [](Text text, ProbeCommand& command) -> Result<void> {
       command.api_key_env = text;
       return {};
     }},
    {.group = "What is measured",
     .name = "in-flight",
     .value_name = "N,N,...",
     .help = "these numbers in flight (default: 1, 2, 4, ... while that brings more, to 128)",
     .set = [](Text text, ProbeCommand& command) { return set_numbers(text, command.in_flight); }},
    {.group = "What is measured",
     .name = "seconds-each",
     .value_name = "N",
     .help = "how long each number is measured; ten times that at most (default: 8)",
     .set =
         [](Text text, ProbeCommand& command) {
           command.requests_each = 0;
           return set_probe_number(text, 1, 3600, command.seconds_each);
         }},
    {.group = "What is measured",
     .name = "requests-each",
     .value_name = "N",
     .help = "how many requests each number is measured with, instead",
     .set =
         [](Text text, ProbeCommand& command) {
           command.seconds_each = 0;
           return set_probe_number(text, 1, 1'000'000, command.requests_each);
         }},
    {.group = "What is sent",
     .name = "max-tokens",
     .value_name = "N",
     .help = "tokens of each answer; 0: whatever the server does (default: 64)",
     .set =
         [](Text text, ProbeCommand& command) {
           return set_probe_number(text, 0, 1'000'000, command.output_tokens);
         }},
    {.group = "What is sent",
     .name = "prompt",
     .value_name = "TEXT",
     .help = "what is asked, always the same (default: a short task with a number that changes)",
     .set = [](Text text, ProbeCommand& command) -> Result<void> {
       command.prompt = text;
       return {};
     }},
    {.group = "What is sent",
     .name = "input",
     .value_name = "FILE",
     .help = "send the rows of this file, as `windrow run` takes them, with their own lengths",
     .set = [](Text text, ProbeCommand& command) -> Result<void> {
       command.input = text;
       return {};
     }},
    {.group = "Console",
     .name = "json",
     .value_name = "",
     .help = "events as JSON lines on standard output instead of the table",
     .set = [](Text, ProbeCommand& command) -> Result<void> {
       command.json = true;
       return {};
     }},
}};

Error refuse_probe_flag(std::string message) {
  return {ErrorKind::kInvalid, std::move(message)};
}

}  // namespace

std::span<const ProbeFlag> probe_flags() {
  return kProbeFlags;
}

Result<void> check_probe(const ProbeCommand& command) {
  if (command.upstream.empty()) {
    return refuse_probe_flag(
        "no upstream was named; write windrow probe --upstream http://host:8000/v1");
  }
  if (!command.prompt.empty() && !command.input.empty())
    return refuse_probe_flag("--prompt and --input each say what is sent; take one of them");
  if (command.input == "-")
    return refuse_probe_flag("--input must be a file here: its rows may be sent more than once");
  return {};
}

}  // namespace windrow::app
