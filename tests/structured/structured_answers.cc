// structured_answers: generated schemas, what their grammars accept and what random walks through
// them write, as JSON lines for check_answers.py to have judged.
//
// usage: structured_answers --seed N --schemas N [--flexible] [--level N] [--instances N]
#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <cstdlib>
#include <string>
#include <string_view>

#include "schema/validator.h"
#include "structured/schema_json.h"
#include "structured/shape_maker.h"
#include "structured/trial.h"

namespace windrow::structured {
namespace {

namespace json = boost::json;

std::string_view kind_name(TrialText::Kind kind) {
  switch (kind) {
    case TrialText::Kind::kInstance:
      return "instance";
    case TrialText::Kind::kNearMiss:
      return "near miss";
    case TrialText::Kind::kWalk:
      return "walk";
  }
  return "";
}

json::object report(const Trial& trial) {
  const json::object written = written_schema(trial.schema);
  json::object line{
      {"name", trial.schema.name}, {"written", written}, {"schema", closed_schema(trial.schema)}};
  if (!trial.refusal.empty()) {
    line["refusal"] = trial.refusal;
    return line;
  }
  const auto validator = schema::Validator::compile(written, {.closed_by_default = true});
  if (!validator) line["validator_refusal"] = validator.error().message;
  json::array texts;
  for (const TrialText& text : trial.texts) {
    json::object one{
        {"kind", kind_name(text.kind)}, {"text", text.text}, {"accepted", text.accepted}};
    if (text.fault) one["fault"] = *text.fault;
    if (validator) {
      const auto violation = validator.value().check(text.text);
      one["valid"] = !violation;
      if (violation) one["violation"] = violation->message;
    }
    texts.push_back(std::move(one));
  }
  line["texts"] = std::move(texts);
  return line;
}

struct Arguments {
  uint64_t seed = 1;
  uint64_t schemas = 64;
  int level = 0;  // all
  TrialOptions trial;
};

int run(const Arguments& arguments) {
  const TrialVocabulary vocabulary(random_vocabulary(arguments.seed, 3000));
  for (uint64_t i = 0; i < arguments.schemas; ++i) {
    const int level = arguments.level != 0 ? arguments.level : 1 + static_cast<int>(i % kLevels);
    const Trial trial = run_trial(level, arguments.seed + i, vocabulary, arguments.trial);
    fmt::print("{}\n", json::serialize(report(trial)));
  }
  return 0;
}

}  // namespace
}  // namespace windrow::structured

int main(int argc, char** argv) {
  windrow::structured::Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    if (name == "--flexible") {
      arguments.trial.whitespace = windrow::grammar::Whitespace::kFlexible;
      continue;
    }
    if (i + 1 == argc) {
      fmt::print(stderr, "structured_answers: {} needs a number behind it\n", name);
      return 2;
    }
    const auto number = std::strtoull(argv[++i], nullptr, 10);
    if (name == "--seed") {
      arguments.seed = number;
    } else if (name == "--schemas") {
      arguments.schemas = number;
    } else if (name == "--level") {
      arguments.level = static_cast<int>(number);
    } else if (name == "--instances") {
      arguments.trial.instances = static_cast<int>(number);
    } else {
      fmt::print(stderr, "structured_answers: unknown option {}\n", name);
      return 2;
    }
  }
  return windrow::structured::run(arguments);
}
