// The trace of a recall: how its result came about, as JSON. Pure; any thread.
#pragma once

#include <boost/json/object.hpp>
#include <span>
#include <string>

#include "memory/recall/fusion.h"
#include "memory/recall/recall.h"

namespace windrow::memory {

// The query, the hits of each arm, the fused ranking with its parts, and what was returned.
// `notes`: what a reader should know, such as why there is no arm of vectors.
boost::json::object trace_of(const RecallQuery& query, std::span<const Arm> arms,
                             std::span<const Hit> ranking, const RecallResult& result,
                             std::span<const std::string> notes);

}  // namespace windrow::memory
