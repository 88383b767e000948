#include "sim_upstream/answer_text.h"

#include <algorithm>
#include <array>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <cmath>

#include "base/hash.h"
#include "base/random.h"
#include "base/utf8.h"
#include "sim_upstream/schema_example.h"

namespace windrow::sim_upstream {

namespace json = boost::json;

namespace {

constexpr size_t kEchoBytesMax = 400;

constexpr std::array<std::string_view, 32> kWords = {
    "the",   "river", "runs",  "past", "a",    "stone", "house", "where", "nobody", "has",  "lived",
    "since", "green", "light", "came", "over", "hills", "and",   "every", "window", "was",  "open",
    "to",    "wind",  "rows",  "of",   "tall", "grass", "bend",  "then",  "rise",   "again"};

Random dice_of(const SimOptions& options, std::string_view prompt, int32_t choice) {
  return Random(hash64(prompt, options.seed) + static_cast<uint64_t>(choice));
}

std::string words(Random random, int64_t count) {
  std::string text;
  for (int64_t i = 0; i < count; ++i) {
    if (i > 0) text += ' ';
    text += kWords.at(random.below(kWords.size()));
  }
  return text;
}

// The last line that has something in it.
std::string last_line(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ' || text.back() == '\r'))
    text.remove_suffix(1);
  text.remove_prefix(std::min(text.rfind('\n') + 1, text.size()));
  if (text.size() > kEchoBytesMax) text.remove_prefix(text.size() - kEchoBytesMax);
  return utf8_repair(text);  // the cut may go through a character
}

std::string object_text(const ModelCall& call, Random random) {
  if (!call.schema.is_null()) return json::serialize(example_of_schema(call.schema, random));
  return json::serialize(json::object{{"answer", words(random, 4)},
                                      {"score", static_cast<double>(random.below(101)) / 100},
                                      {"question", last_line(call.question)}});
}

}  // namespace

int64_t draw_answer_tokens(const SimOptions& options, std::string_view prompt, int32_t choice) {
  const auto mean = static_cast<double>(options.answer_tokens);
  const double position = 2 * dice_of(options, prompt, choice).unit() - 1;
  return std::max<int64_t>(1, std::llround(mean * (1 + options.answer_spread * position)));
}

std::string answer_text(const SimOptions& options, const ModelCall& call, size_t prompt,
                        int32_t choice, int64_t tokens) {
  const std::string& text = call.prompts.at(prompt).text;
  if (options.answer == AnswerKind::kEcho)
    return last_line(call.endpoint == Endpoint::kChat ? call.question : text);
  const Random random = dice_of(options, text, choice);
  if (options.answer == AnswerKind::kJson || call.wants_json) return object_text(call, random);
  return words(random, tokens);
}

std::string in_another_shape(const std::string& json) {
  return json.starts_with('{') ? "[" + json + "]" : "{\"answer\":" + json + "}";
}

std::vector<float> embedding_of(std::string_view text, int64_t dimensions) {
  Random random(hash64(text));
  std::vector<float> values(static_cast<size_t>(dimensions));
  double squares = 0;
  for (float& value : values) {
    value = static_cast<float>(2 * random.unit() - 1);
    squares += static_cast<double>(value) * static_cast<double>(value);
  }
  for (float& value : values)
    value = static_cast<float>(static_cast<double>(value) / std::sqrt(squares));
  return values;
}

}  // namespace windrow::sim_upstream
