#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "app/commands/commands.h"
#include "app/commands/fetch_models.h"
#include "app/process/console.h"
#include "app/settings/fleet_settings.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "batch/job_runner.h"
#include "engine/llama/llama_library.h"
#include "fleet/load_tokenizer.h"
#include "json/parse.h"
#include "llm/request_json.h"
#include "llm/tokenizer.h"
#include "store/posix_disk.h"

namespace windrow::app {

namespace json = boost::json;

namespace {

struct CloseFile {
  void operator()(std::FILE* file) const {
    if (file != stdin) std::fclose(file);
  }
};

Result<std::string> read_text(const std::string& path) {
  const bool standard = path.empty() || path == "-";
  const std::unique_ptr<std::FILE, CloseFile> file(standard ? stdin
                                                            : std::fopen(path.c_str(), "rb"));
  if (!file) return Error{ErrorKind::kNotFound, fmt::format("{}: there is no such file", path)};
  std::string text;
  std::array<char, 1 << 16> buffer{};
  while (const size_t bytes = std::fread(buffer.data(), 1, buffer.size(), file.get()))
    text.append(buffer.data(), bytes);
  if (std::ferror(file.get()) != 0) {
    return Error{ErrorKind::kIo,
                 fmt::format("{}: it cannot be read", standard ? "standard input" : path)};
  }
  return text;
}

// Whole numbers between blanks, commas and brackets, so that an array of JSON is one, too.
Result<std::string> decoded(const llm::Tokenizer& tokenizer, std::string_view input) {
  constexpr std::string_view kBetween = " \t\r\n,[]";
  std::vector<int32_t> tokens;
  for (size_t at = input.find_first_not_of(kBetween); at != std::string_view::npos;) {
    const size_t end = std::min(input.find_first_of(kBetween, at), input.size());
    const std::string_view word = input.substr(at, end - at);
    int32_t token = -1;
    const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), token);
    if (error != std::errc() || stop != word.data() + word.size() || token < 0 ||
        token >= tokenizer.vocabulary_size()) {
      return Error{ErrorKind::kInvalid,
                   fmt::format("\"{}\" is not a token id of this model; they are 0 to {}", word,
                               tokenizer.vocabulary_size() - 1)};
    }
    tokens.push_back(token);
    at = input.find_first_not_of(kBetween, end);
  }
  return text_of(tokenizer, tokens);
}

// An array of messages, or the body of a request.
Result<std::vector<int32_t>> tokens_of_chat(const llm::Tokenizer& tokenizer,
                                            std::string_view input) {
  auto parsed = parse_json(input);
  if (const auto* fault = std::get_if<JsonFault>(&parsed)) {
    return Error{ErrorKind::kInvalid,
                 fmt::format("the input is not JSON: {} near byte {}", fault->reason, fault->byte)};
  }
  auto& value = std::get<json::value>(parsed);
  json::object body;
  if (value.is_object()) {
    body = std::move(value.get_object());
  } else {
    body["messages"] = std::move(value);
  }
  const auto request = llm::parse_request(llm::Endpoint::kChatCompletions, body, 0);
  if (const auto* failure = std::get_if<llm::Failure>(&request))
    return Error{ErrorKind::kInvalid, failure->message};
  auto rendered = tokenizer.render(std::get<llm::Request>(request).chat, /*asks_for_answer=*/true);
  if (const auto* failure = std::get_if<llm::Failure>(&rendered))
    return Error{ErrorKind::kInvalid, failure->message};
  return std::get<llm::RenderedChat>(std::move(rendered)).tokens;
}

// Texts, or bytes where a token is only a part of a character.
json::array pieces_of(const llm::Tokenizer& tokenizer, const std::vector<int32_t>& tokens) {
  json::array pieces;
  pieces.reserve(tokens.size());
  for (const int32_t token : tokens) {
    std::string piece;
    tokenizer.append_piece(token, piece);
    if (code_points(piece)) {
      pieces.emplace_back(piece);
      continue;
    }
    json::array bytes;
    for (const char byte : piece)
      bytes.emplace_back(static_cast<unsigned char>(byte));
    pieces.emplace_back(std::move(bytes));
  }
  return pieces;
}

Result<std::string> read_and_tokenize(const TokenizeCommand& command,
                                      const Environment& environment) {
  const SystemClock clock;
  const Result<std::string> file = [&] {
    store::PosixDisk disk;
    Console console({}, environment, clock);
    return fetch_model(command.model, environment, clock, disk, console);
  }();
  if (!file) return file.error();
  const fleet::ModelChoice choice{.path = *file, .chat_template = command.chat_template};
  std::unique_ptr<engine::LlamaLibrary> library;
  if (!fleet::is_simulated(choice)) {
    auto started = engine::LlamaLibrary::start(backends_folder());
    if (!started) return started.error();
    library = *std::move(started);
  }
  const auto tokenizer = fleet::load_tokenizer(library.get(), choice, clock.unix_seconds());
  if (!tokenizer) return tokenizer.error();
  const Result<std::string> input = read_text(command.input);
  if (!input) return input.error();
  return tokenize_output(command, **tokenizer, *input);
}

}  // namespace

Result<std::string> tokenize_output(const TokenizeCommand& command, const llm::Tokenizer& tokenizer,
                                    std::string_view input) {
  if (command.decode) return decoded(tokenizer, input);
  std::vector<int32_t> tokens;
  if (command.messages) {
    Result<std::vector<int32_t>> made = tokens_of_chat(tokenizer, input);
    if (!made) return made.error();
    tokens = *std::move(made);
  } else {
    tokens = tokenizer.encode(
        input, /*control=*/true,
        command.add_special ? llm::SpecialTokens::kAll : llm::SpecialTokens::kNone);
  }
  if (command.count) return fmt::format("{}\n", tokens.size());
  if (!command.json) return fmt::format("{}\n", fmt::join(tokens, " "));
  return json::serialize(json::object{{"count", tokens.size()},
                                      {"tokens", json::array(tokens.begin(), tokens.end())},
                                      {"pieces", pieces_of(tokenizer, tokens)}}) +
         "\n";
}

int tokenize_command(const TokenizeCommand& command, const Environment& environment) {
  const Result<std::string> output = read_and_tokenize(command, environment);
  if (!output) {
    fmt::print(stderr, "windrow: {}\n", output.error().message);
    return batch::exit_code(output.error());
  }
  fmt::print("{}", *output);
  return 0;
}

}  // namespace windrow::app
