// Compiles the JSON of a schema to a Program. Pure, any thread.
#pragma once

#include <boost/json/value.hpp>
#include <memory>

#include "base/result.h"
#include "schema/program.h"
#include "schema/validator.h"

namespace windrow::schema {

// Errors as Validator::compile.
Result<std::shared_ptr<const Program>> compile_program(const boost::json::value& schema,
                                                       const ValidatorOptions& options);

}  // namespace windrow::schema
