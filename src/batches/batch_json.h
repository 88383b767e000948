// Batches in the shape of the OpenAI API. Pure.
#pragma once

#include <boost/json/object.hpp>
#include <string>
#include <string_view>

#include "batches/batch_record.h"

namespace windrow::batches {

// {"id", "object": "batch", "endpoint", "model", "errors", "input_file_id", "completion_window",
// "status", ..., "request_counts", "usage", "metadata"}; beside OpenAI's members "windrow", with a
// `note` where something keeps it from going on: "the disk is full; ...".
boost::json::object batch_json(const BatchRecord& record, std::string_view note = "");

}  // namespace windrow::batches
