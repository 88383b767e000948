// Bodies made of every known name and of values of every kind, at every endpoint: nothing throws,
// and whatever is refused says which field it is.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <string>
#include <vector>

#include "base/random.h"
#include "llm/request_json.h"

namespace windrow::llm {
namespace {

namespace json = boost::json;

// Words that mean something somewhere, so that bodies come far enough to be refused late.
constexpr std::array<std::string_view, 24> kWords = {
    "role", "content",  "user",       "assistant", "tool",         "function", "type",   "text",
    "name", "id",       "arguments",  "{\"a\":1}", "auto",         "none",     "base64", "float",
    "",     "messages", "tool_calls", "reasoning", "\u00e9\u20ac", "17",       "-3",     "query"};

class BodyMaker {
 public:
  explicit BodyMaker(uint64_t seed) : random_(seed) {}

  json::object body() {
    json::object body;
    const auto rules = field_rules();
    for (uint64_t i = random_.below(8); i > 0; --i) {
      const FieldRule& rule = rules[random_.below(rules.size())];
      body[random_.chance(0.05) ? word() : rule.name] = value(3);
    }
    // What is needed is mostly there, and often right.
    if (random_.chance(0.8)) body["messages"] = random_.chance(0.5) ? messages() : value(4);
    if (random_.chance(0.8)) body["prompt"] = random_.chance(0.5) ? json::value("p") : value(2);
    if (random_.chance(0.8)) body["input"] = random_.chance(0.5) ? json::value("i") : value(2);
    if (random_.chance(0.8)) body["query"] = random_.chance(0.5) ? json::value("q") : value(1);
    if (random_.chance(0.8)) body["documents"] = value(2);
    return body;
  }

 private:
  std::string_view word() { return kWords[random_.below(kWords.size())]; }

  json::value value(int depth) {
    switch (random_.below(depth > 0 ? 9 : 6)) {
      case 0:
        return nullptr;
      case 1:
        return random_.chance(0.5);
      case 2:
        return random_.between(-3, 30);
      case 3:
        return random_.unit() * 4 - 1;
      case 4:
        return random_.chance(0.5) ? json::value(random_.next()) : json::value(1e300);
      case 5:
        return json::string(word());
      case 6:
      case 7: {
        json::object object;
        for (uint64_t i = random_.below(4); i > 0; --i)
          object[word()] = value(depth - 1);
        return object;
      }
      default:
        return array(depth);
    }
  }

  json::array array(int depth) {
    json::array array;
    const bool alike = random_.chance(0.5);
    const json::value first = value(depth - 1);
    for (uint64_t i = random_.below(4); i > 0; --i)
      array.push_back(alike ? first : value(depth - 1));
    return array;
  }

  json::value messages() {
    json::object message{{"role", word()}, {"content", "x"}};
    if (random_.chance(0.7)) message["role"] = random_.chance(0.5) ? "assistant" : "user";
    if (random_.chance(0.3)) {
      message["tool_calls"] = json::array{
          json::object{{"type", "function"}, {"function", json::object{{"name", "f"}}}}};
    }
    if (random_.chance(0.5)) message[word()] = value(3);
    return json::array{message};
  }

  Random random_;
};

TEST(RequestFuzz, NothingThrowsAndEveryRefusalNamesAField) {
  constexpr uint64_t kSeed = 20261121;
  BodyMaker maker(kSeed);
  int accepted = 0;
  int refused = 0;
  for (int round = 0; round < 20'000; ++round) {
    const json::object body = maker.body();
    for (const Endpoint endpoint : endpoints()) {
      // Only what the endpoint knows, so that one field in a wrong place does not hide the others.
      json::object known;
      for (const auto& [name, value] : body) {
        if (round % 10 == 0 || find_rule(endpoint, name) != nullptr) known[name] = value;
      }
      std::variant<Request, Failure> result;
      ASSERT_NO_THROW(result = parse_request(endpoint, known, 1))
          << "seed " << kSeed << " round " << round << ": " << json::serialize(known);
      const auto* failure = std::get_if<Failure>(&result);
      if (failure == nullptr) {
        ++accepted;
        continue;
      }
      ++refused;
      ASSERT_EQ(failure->status, 400) << json::serialize(known);
      ASSERT_FALSE(failure->code.empty()) << json::serialize(known);
      // The message speaks of the param, or of the array or object that lacks it.
      const std::string outer = failure->param.substr(0, failure->param.find_first_of(".["));
      ASSERT_NE(failure->message.find(outer), std::string::npos)
          << failure->param << ": " << failure->message << " " << json::serialize(known);
      const bool about_body = body.contains(outer) || failure->code == "missing_required_parameter";
      ASSERT_TRUE(about_body) << failure->param << " " << json::serialize(known);
    }
  }
  // Else the bodies are too wild, or too tame, to find anything.
  EXPECT_GT(accepted, 1000);
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace windrow::llm
