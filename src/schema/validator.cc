#include "schema/validator.h"

#include <fmt/format.h>

#include <utility>

#include "schema/judgement.h"
#include "schema/program.h"
#include "schema/value.h"

namespace windrow::schema {

Result<Validator> Validator::compile(const boost::json::value& schema,
                                     const ValidatorOptions& options) {
  Result<std::shared_ptr<const Program>> program = compile_program(schema, options);
  if (!program) return program.error();
  return Validator(std::move(program).value());
}

Validator::Validator(std::shared_ptr<const Program> program) : program_(std::move(program)) {}

std::optional<Violation> Validator::check(std::string_view answer_text) const {
  const Result<Value> value = Value::parse(answer_text);
  if (!value) {
    const bool is_too_deep = value.error().kind == ErrorKind::kNoSpace;
    Violation violation;
    violation.kind = is_too_deep ? Violation::Kind::kUnjudged : Violation::Kind::kNotJson;
    violation.message =
        fmt::format("the answer is {}{}", is_too_deep ? "" : "no JSON: ", value.error().message);
    return violation;
  }
  return evaluate(*program_, value.value());
}

}  // namespace windrow::schema
