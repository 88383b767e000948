// Rows of batches for /v1/responses and /v1/messages: the dialects as batch::RowApi.
#pragma once

#include "batch/row_dialect.h"

namespace windrow::api {

// A row is translated as a call is, without stored responses, and its result has the body of that
// call's reply.
batch::RowApis row_apis();

}  // namespace windrow::api
