// Validator: checks whether an answer is valid under a JSON Schema. It shares no code with
// grammar/, which enforces schemas token by token, so that tests of one against the other find
// mistakes of both. Follows JSON Schema from draft-04 to 2020-12, whichever `$schema` names;
// README.md has the list of keywords. Pure, any thread.
//
//   auto validator = Validator::compile(schema, {});
//   if (auto violation = validator.value().check(answer)) say(violation->message);
#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace windrow::schema {

struct Program;

struct ValidatorOptions {
  // Whether other properties are forbidden if `additionalProperties` is absent beside `properties`
  // or `patternProperties`. The standard allows them. If true, the names count that allOf, $ref and
  // the chosen branch of anyOf, oneOf, then, else and dependentSchemas declare for the same object.
  // Schemas under `not`, `if`, `contains` and `propertyNames`, and the branches of oneOf that must
  // not fit, keep the meaning of the standard; so all answers that are valid then are valid by the
  // standard.
  bool closed_by_default = false;
};

struct Violation {
  enum class Kind : uint8_t {
    kNotJson,   // the answer is no JSON text; both pointers are empty
    kSchema,    // a keyword does not hold
    kUnjudged,  // judging it would take more work or stack than allowed
  };

  Kind kind = Kind::kSchema;
  std::string instance_pointer;  // JSON pointer into the answer; "" is all of it
  std::string schema_pointer;    // to the keyword: "/properties/age/maximum"
  std::string message;           // all of the above, for users
};

class Validator {
 public:
  // kInvalid, with the JSON pointer: not a valid schema, or something that cannot be judged:
  // references to other documents, patterns that RE2 cannot match, circular references. Unknown
  // keywords and formats are annotations. The schema is not needed afterwards.
  static Result<Validator> compile(const boost::json::value& schema,
                                   const ValidatorOptions& options);

  // Returns nothing if the answer is valid. If an object has members of the same name the last
  // counts, as in most JSON readers.
  std::optional<Violation> check(std::string_view answer_text) const;

 private:
  explicit Validator(std::shared_ptr<const Program> program);

  std::shared_ptr<const Program> program_;
};

}  // namespace windrow::schema
