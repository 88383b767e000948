// The status of upstream servers as text and as JSON. Pure.
#pragma once

#include <boost/json/object.hpp>
#include <span>
#include <string>

#include "llm/upstream_status.h"

namespace windrow::report {

// For events and the summary.
boost::json::object to_json(const llm::UpstreamStatus& upstream);

// A table, one line each.
std::string upstreams_text(std::span<const llm::UpstreamStatus> upstreams);

// For the live line, shortest first thing to know: "gpu2:8000 16/16 in flight, 1.2 s".
std::string upstream_piece(const llm::UpstreamStatus& upstream);

}  // namespace windrow::report
