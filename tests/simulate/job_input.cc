#include "simulate/job_input.h"

#include <fmt/format.h>

#include <utility>

#include "simulate/server_plan.h"

namespace windrow::simulate {
namespace {

// A request with everything that a server is to send back: the last line of its prompt.
std::string request_text(Random& random, const std::string& custom_id, const std::string& prompt,
                         bool same_answer) {
  const std::string settings = same_answer ? R"(,"temperature":0)" : "";
  const std::string end = random.chance(0.1) ? "\r\n" : "\n";
  if (prompt.size() % 2 == 0) {
    return fmt::format(R"({{"custom_id":"{}","method":"POST","url":"/v1/completions",)"
                       R"("body":{{"model":"m","prompt":"{}","max_tokens":64{}}}}}{})",
                       custom_id, prompt, settings, end);
  }
  return fmt::format(R"({{"custom_id":"{}","method":"POST","url":"/v1/chat/completions",)"
                     R"("body":{{"model":"m","messages":[{{"role":"user","content":"{}"}}],)"
                     R"("max_tokens":64{}}}}}{})",
                     custom_id, prompt, settings, end);
}

// A beginning that several prompts share; some are beginnings of others.
std::string beginning(Random& random) {
  std::string text;
  for (uint64_t group = random.below(4); group > 0; --group)
    text +=
        fmt::format("These are the rules of part {}, which all that follows has to obey. ", group);
  return text;
}

InputLine row(Random& random, std::string custom_id, std::string word, bool same_answer) {
  InputLine line{
      .kind = InputLine::Kind::kRow, .custom_id = std::move(custom_id), .word = std::move(word)};
  // Equal questions are equal to the letter.
  std::string prompt =
      same_answer ? fmt::format("The question of {}", line.word) : beginning(random);
  if (!same_answer && random.chance(0.06)) {
    line.kind = InputLine::Kind::kTooLong;
    line.error = "context_length_exceeded";
    prompt += std::string(5 * kContextTokens, 'x');
  }
  line.text = request_text(random, line.custom_id, prompt + "\\n" + line.word, same_answer);
  return line;
}

}  // namespace

std::string JobInput::text() const {
  std::string text;
  for (const InputLine& line : lines)
    text += line.text;
  return text;
}

int64_t JobInput::equal_rows() const {
  std::map<std::string, int64_t> rows;
  for (const InputLine& line : lines) {
    if (!line.word.empty()) ++rows[line.word];
  }
  int64_t equal = 0;
  for (const auto& [word, count] : rows)
    equal += count > 1 ? count : 0;
  return equal;
}

JobInput draw_input(Random& random, int64_t rows) {
  JobInput input;
  std::vector<std::string> named;
  const uint64_t shared_words = 1 + random.below(4);
  for (int64_t i = 0; i < rows; ++i) {
    const std::string custom_id = fmt::format("row {}", i);
    switch (random.below(20)) {
      case 0:
        input.lines.push_back(
            {.kind = InputLine::Kind::kBlank, .text = random.chance(0.5) ? "\n" : "  \r\n"});
        break;
      case 1:
        input.lines.push_back({.kind = InputLine::Kind::kUnnamed,
                               .text = fmt::format("rubbish {}\n", i),
                               .error = "invalid_json_line"});
        break;
      case 2:
        input.lines.push_back({.kind = InputLine::Kind::kUnnamed,
                               .text = fmt::format("{{\"method\":\"POST\",\"n\":{}}}\n", i),
                               .error = "missing_custom_id"});
        break;
      case 3:
        input.lines.push_back(
            {.kind = InputLine::Kind::kNoUrl,
             .text = fmt::format(
                 "{{\"custom_id\":\"{}\",\"method\":\"POST\",\"url\":\"/v2\",\"body\":{{}}}}\n",
                 custom_id),
             .custom_id = custom_id,
             .error = "unknown_url"});
        named.push_back(custom_id);
        break;
      case 4:
        if (named.empty()) break;
        input.lines.push_back(row(random, named[random.below(named.size())],
                                  fmt::format("word-{}", 1000 + i), false));
        input.lines.back().kind = InputLine::Kind::kSecond;
        input.lines.back().error = "duplicate_custom_id";
        break;
      case 5:
      case 6:
        input.lines.push_back(row(
            random, custom_id, fmt::format("word-{}", 900'000 + random.below(shared_words)), true));
        named.push_back(custom_id);
        break;
      default:
        input.lines.push_back(row(random, custom_id, fmt::format("word-{}", 1000 + i), false));
        named.push_back(custom_id);
    }
  }
  return input;
}

}  // namespace windrow::simulate
