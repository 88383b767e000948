// Which members or items of a value its schemas have evaluated, which is what unevaluatedProperties
// and unevaluatedItems ask. Pure; used by one thread, as Judgement.
#pragma once

#include <functional>
#include <vector>

#include "schema/judgement.h"
#include "schema/program.h"
#include "schema/value.h"

namespace windrow::schema {

// Whether a value is valid under a node.
using HoldsFor = std::function<bool(const Node&, const Value&)>;

// For each member or item of `value`, an object or array that is valid under all of `node` but its
// unevaluated keywords: whether another keyword of `node`, or of a schema that holds with it, is
// about it. Counts its steps; worthless if the judgement gave up.
std::vector<bool> evaluated_parts(Judgement& judgement, const Node& node, const Value& value,
                                  const HoldsFor& holds);

}  // namespace windrow::schema
