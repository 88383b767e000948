// Judges one value by a program.
#pragma once

#include <optional>

#include "schema/judgement.h"
#include "schema/program.h"
#include "schema/validator.h"

namespace windrow::schema {

// Returns nothing if the value is valid. First it only decides; if the value is not valid, a second
// pass finds the words. Pure, any thread; recursive as deep as `limits` allow.
std::optional<Violation> evaluate(const Program& program, const Value& value,
                                  const EvaluationLimits& limits = {});

}  // namespace windrow::schema
