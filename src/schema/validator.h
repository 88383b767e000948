// Validator: whether an answer is what a JSON Schema asks for, judged after the fact and by rules
// of its own: nothing here is shared with what enforces schemas token by token, so that one finds
// the other's mistakes. Follows JSON Schema from draft-04 to 2020-12, whichever `$schema` names;
// README.md has the list of keywords. Pure; any thread.
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
  // What `additionalProperties` means where it is absent and `properties` or `patternProperties`
  // are there. False: anything may be added, as the standard says. True: nothing may; names count
  // that allOf, $ref and the chosen branch of anyOf, oneOf, then, else and dependentSchemas
  // declare for the same object. Schemas under `not`, `if`, `contains` and `propertyNames`, and the
  // branches of oneOf that must not fit, keep the standard's meaning; so what is valid then is
  // valid by the standard too.
  bool closed_by_default = false;
};

struct Violation {
  enum class Kind : uint8_t {
    kNotJson,   // the answer is no JSON text; both pointers are empty
    kSchema,    // a keyword does not hold
    kUnjudged,  // it would take more work or stack than one answer is given
  };

  Kind kind = Kind::kSchema;
  std::string instance_pointer;  // JSON pointer into the answer; "" is all of it
  std::string schema_pointer;    // of the keyword, as "/properties/age/maximum"
  std::string message;           // all of the above, for people
};

class Validator {
 public:
  // kInvalid for what is no schema and for what cannot be judged here, with the JSON pointer of it:
  // references to other documents, patterns that RE2 has no way to match, references that go in
  // circles. Names and formats that are not known are annotations. The schema is not needed
  // afterwards.
  static Result<Validator> compile(const boost::json::value& schema,
                                   const ValidatorOptions& options);

  // Nothing: the answer is valid. Of an object's members with one name the last counts, as most
  // readers have it.
  std::optional<Violation> check(std::string_view answer_text) const;

 private:
  explicit Validator(std::shared_ptr<const Program> program);

  std::shared_ptr<const Program> program_;
};

}  // namespace windrow::schema
