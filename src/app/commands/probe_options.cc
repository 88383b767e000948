#include "app/commands/probe_options.h"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

namespace windrow::app {
namespace {

using Text = std::string_view;

// Each is a connection, and many systems allow a process 1024 files.
constexpr int32_t kProbeInFlightMax = 512;
constexpr size_t kNumbersMax = 32;

Result<void> set_numbers(Text text, std::vector<int32_t>& target) {
  std::vector<int32_t> numbers;
  for (bool more = true; more;) {
    const size_t comma = text.find(',');
    more = comma != Text::npos;
    const Result<int32_t> number = parse_number(text.substr(0, comma), 1, kProbeInFlightMax);
    if (!number) return number.error();
    numbers.push_back(*number);
    if (more) text.remove_prefix(comma + 1);
  }
  if (numbers.size() > kNumbersMax) {
    return Error{ErrorKind::kInvalid,
                 fmt::format("{} numbers are more than {}", numbers.size(), kNumbersMax)};
  }
  target = std::move(numbers);
  return {};
}

const std::array<Flag<ProbeCommand>, 10> kProbeFlags = {{
    {.group = "Upstream",
     .name = "upstream",
     .value_name = "URL",
     .help = "base URL of an OpenAI-compatible server, such as http://host:8000/v1",
     .set = set_text<&ProbeCommand::upstream>},
    {.group = "Upstream",
     .name = "model",
     .value_name = "NAME",
     .help = "model to ask (default: the one that the rows name, else the server's only one)",
     .set = set_text<&ProbeCommand::model>},
    {.group = "Upstream",
     .name = "api-key-env",
     .value_name = "NAME",
     .help = "environment variable that holds the API key",
     .set = set_text<&ProbeCommand::api_key_env>},
    {.group = "Measurement",
     .name = "in-flight",
     .value_name = "N,N,...",
     .help = "measure these numbers of requests in flight (default: search from 1 to 128)",
     .set = [](Text text, ProbeCommand& command) { return set_numbers(text, command.in_flight); }},
    {.group = "Measurement",
     .name = "seconds-each",
     .value_name = "N",
     .help = "how long each number of --in-flight is measured; ten times that at most (default: 8)",
     .set =
         [](Text text, ProbeCommand& command) {
           command.requests_each = 0;
           return set_number<int64_t>(text, 1, 3600, command.seconds_each);
         }},
    {.group = "Measurement",
     .name = "requests-each",
     .value_name = "N",
     .help = "with how many requests each number of --in-flight is measured, instead",
     .set =
         [](Text text, ProbeCommand& command) {
           command.seconds_each = 0;
           return set_number<int64_t>(text, 1, 1'000'000, command.requests_each);
         }},
    {.group = "Requests",
     .name = "max-tokens",
     .value_name = "N",
     .help = "tokens of each answer; 0: the server's default (default: 64)",
     .set = set_number_in<&ProbeCommand::output_tokens, 0, 1'000'000>},
    {.group = "Requests",
     .name = "prompt",
     .value_name = "TEXT",
     .help = "prompt of every request (default: a short task with a number that changes)",
     .set = set_text<&ProbeCommand::prompt>},
    {.group = "Requests",
     .name = "input",
     .value_name = "FILE",
     .help = "send the rows of this file, as `windrow run` takes them, with their own lengths",
     .set = set_text<&ProbeCommand::input>},
    {.group = "Console",
     .name = "json",
     .help = "print events as JSON lines on standard output instead of the table",
     .set = set_switch<&ProbeCommand::json>},
}};

Error refuse_probe_flag(std::string message) {
  return {ErrorKind::kInvalid, std::move(message)};
}

}  // namespace

std::span<const Flag<ProbeCommand>> probe_flags() {
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
