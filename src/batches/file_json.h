// Files in the shape of the OpenAI API. Pure.
#pragma once

#include <boost/json/object.hpp>

#include "batches/file_store.h"

namespace windrow::batches {

// {"id", "object": "file", "bytes", "created_at", "expires_at", "filename", "purpose", "status"}
boost::json::object file_json(const StoredFile& file);

}  // namespace windrow::batches
