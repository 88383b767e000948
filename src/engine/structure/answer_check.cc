#include "engine/structure/answer_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <utility>
#include <vector>

#include "base/ensure.h"
#include "base/utf8.h"
#include "grammar/gbnf.h"
#include "grammar/matcher.h"
#include "grammar/token_tables.h"
#include "json/limits.h"
#include "schema/pattern.h"
#include "schema/validator.h"

namespace windrow::engine {

namespace json = boost::json;

namespace {

using Kind = llm::StructureSpec::Kind;
using Fault = std::optional<std::string>;

// Deeper than any answer gets, which is a text of its own.
constexpr size_t kAnswerDepthMax = 100'000;

constexpr size_t kShownBytes = 300;

class SchemaCheck final : public AnswerCheck {
 public:
  explicit SchemaCheck(schema::Validator validator) : validator_(std::move(validator)) {}

  Fault fault(std::string_view answer) const override {
    const std::optional<schema::Violation> violation = validator_.check(answer);
    // A check that would take too long does not make the arguments wrong.
    if (!violation || violation->kind == schema::Violation::Kind::kUnjudged) return std::nullopt;
    return violation->message;
  }

 private:
  schema::Validator validator_;
};

class ObjectCheck final : public AnswerCheck {
 public:
  Fault fault(std::string_view answer) const override {
    boost::system::error_code error;
    const json::value value = json::parse(answer, error, {}, {.max_depth = kAnswerDepthMax});
    if (error) return "it is no JSON: " + error.message();
    if (!value.is_object()) return "it is no JSON object";
    return std::nullopt;
  }
};

class PatternCheck final : public AnswerCheck {
 public:
  explicit PatternCheck(schema::Pattern pattern) : pattern_(std::move(pattern)) {}

  Fault fault(std::string_view answer) const override {
    if (pattern_.found_in(answer)) return std::nullopt;
    return "it does not match the expression";
  }

 private:
  schema::Pattern pattern_;
};

class ChoiceCheck final : public AnswerCheck {
 public:
  explicit ChoiceCheck(std::vector<std::string> choices) : choices_(std::move(choices)) {
    std::ranges::sort(choices_);
  }

  Fault fault(std::string_view answer) const override {
    if (std::ranges::binary_search(choices_, answer)) return std::nullopt;
    return "it is none of the choices";
  }

 private:
  std::vector<std::string> choices_;
};

// Read again, and byte by byte.
class GrammarCheck final : public AnswerCheck {
 public:
  explicit GrammarCheck(std::shared_ptr<const grammar::Grammar> grammar)
      : grammar_(std::make_shared<grammar::CompiledGrammar>(std::move(grammar), bytes())) {}

  Fault fault(std::string_view answer) const override {
    grammar::Matcher matcher(grammar_);
    for (size_t i = 0; i < answer.size(); ++i) {
      if (!matcher.accept_bytes(answer.substr(i, 1)))
        return fmt::format("the grammar has no such text from byte {} on", i);
    }
    if (!matcher.can_end()) return "the grammar has longer texts only";
    return std::nullopt;
  }

 private:
  // A vocabulary of bytes.
  static std::shared_ptr<const grammar::TokenTables> bytes() {
    std::array<std::string, 256> bytes;
    for (size_t i = 0; i < bytes.size(); ++i)
      bytes[i] = static_cast<char>(i);
    return grammar::TokenTables::make(bytes, {});
  }

  const std::shared_ptr<grammar::CompiledGrammar> grammar_;
};

Result<std::shared_ptr<const AnswerCheck>> schema_check(const llm::StructureSpec& spec) {
  boost::system::error_code error;
  const json::value schema = json::parse(spec.text, error, {}, {.max_depth = kJsonDepthMax});
  if (error) return Error{ErrorKind::kInvalid, "the schema is no JSON: " + error.message()};
  // As the standard has it. That objects are closed besides is for the grammar, which knows which
  // parts of a schema hold together for one object.
  Result<schema::Validator> validator = schema::Validator::compile(schema, {});
  if (!validator) return validator.error();
  return std::make_shared<const SchemaCheck>(*std::move(validator));
}

}  // namespace

Result<std::shared_ptr<const AnswerCheck>> make_check(const llm::StructureSpec& spec) {
  switch (spec.kind) {
    case Kind::kJsonSchema:
      return schema_check(spec);
    case Kind::kJsonObject:
      return std::make_shared<const ObjectCheck>();
    case Kind::kRegex: {
      Result<schema::Pattern> pattern = schema::Pattern::compile("^(?:" + spec.text + ")$");
      if (!pattern) return pattern.error();
      return std::make_shared<const PatternCheck>(*std::move(pattern));
    }
    case Kind::kGrammar: {
      auto grammar = grammar::parse_gbnf(spec.text);
      if (!grammar) return grammar.error();
      return std::make_shared<const GrammarCheck>(*std::move(grammar));
    }
    case Kind::kToolCalls:
      ENSURE(false, "calls have a check of their own");
    case Kind::kChoice:
      break;
  }
  return std::make_shared<const ChoiceCheck>(spec.choices);
}

llm::Outcome judged(const AnswerCheck& check, llm::Answer answer) {
  answer.truncated = false;
  for (size_t i = 0; i < answer.choices.size(); ++i) {
    llm::Choice& choice = answer.choices[i];
    if (choice.finish_reason == llm::FinishReason::kStop) {
      const std::string_view said = std::string_view(choice.text).substr(choice.prompt_bytes);
      const Fault fault = check.fault(said);
      if (fault && choice.structure == llm::StructureLabel::kValid) {
        return llm::Failure{
            .status = 500,
            .code = "structured_output_mismatch",
            .message = fmt::format("choice {} was held for whole and valid when it was made, and "
                                   "the check of it says: {}. One of the two is wrong, which is a "
                                   "fault of Windrow's; please report it with the request. The "
                                   "answer begins: {}",
                                   i, *fault, utf8_repair(said.substr(0, kShownBytes))),
            .param = "response_format",
            .usage = answer.usage};
      }
      if (!fault) choice.structure = llm::StructureLabel::kValid;
    }
    answer.truncated = answer.truncated || choice.structure == llm::StructureLabel::kTruncated;
  }
  return answer;
}

using CallFault = std::optional<std::string>;

Result<CallCheck> CallCheck::make(std::span<const CallableTool> tools, bool several) {
  Validators validators;
  for (const CallableTool& tool : tools) {
    const boost::json::value any = {{"type", "object"}};
    auto validator = schema::Validator::compile(tool.strict ? tool.schema : any, {});
    if (!validator) {
      return Error{ErrorKind::kInvalid,
                   fmt::format("{}: {}", tool.place, validator.error().message)};
    }
    validators[tool.name].push_back(*std::move(validator));
  }
  return CallCheck(std::move(validators), several);
}

CallFault CallCheck::fault_of(const llm::ToolCall& call) const {
  const auto found = tools_.find(call.name);
  if (found == tools_.end()) return fmt::format("\"{}\" is none of the tools", call.name);
  const size_t begin = call.arguments.find_first_not_of(" \t\r\n");
  if (begin == std::string::npos || call.arguments[begin] != '{')
    return fmt::format("the arguments of {} are no object", call.name);
  CallFault fault;
  for (const schema::Validator& validator : found->second) {
    const std::optional<schema::Violation> violation = validator.check(call.arguments);
    // A check that would take too long does not make the arguments wrong.
    if (!violation || violation->kind == schema::Violation::Kind::kUnjudged) return std::nullopt;
    fault = fmt::format("the arguments of {}: {}", call.name, violation->message);
  }
  return fault;
}

CallFault CallCheck::fault(std::span<const llm::ToolCall> calls) const {
  if (calls.empty()) return "there is no call";
  if (calls.size() > 1 && !several_) return fmt::format("there are {} calls", calls.size());
  for (const llm::ToolCall& call : calls) {
    if (CallFault fault = fault_of(call)) return fault;
  }
  return std::nullopt;
}

llm::Outcome judged_calls(const CallCheck& check, llm::Answer answer, bool has_to_call) {
  for (size_t i = 0; i < answer.choices.size(); ++i) {
    const llm::Choice& choice = answer.choices[i];
    const bool said_nothing_else = has_to_call &&
                                   choice.finish_reason == llm::FinishReason::kStop &&
                                   !choice.stopped_by && !choice.stopped_by_token;
    const bool by_itself =
        choice.finish_reason == llm::FinishReason::kToolCalls || said_nothing_else;
    if (!by_itself) continue;
    const CallFault fault = check.fault(choice.tool_calls);
    if (!fault) continue;
    return llm::Failure{
        .status = 500,
        .code = "structured_output_mismatch",
        .message = fmt::format("the calls of choice {} were held for whole and valid when they "
                               "were made, and the check of them says: {}. One of the two is "
                               "wrong, which is a fault of Windrow's; please report it with the "
                               "request",
                               i, utf8_repair(*fault)),
        .param = "tools",
        .usage = answer.usage};
  }
  return answer;
}

}  // namespace windrow::engine
