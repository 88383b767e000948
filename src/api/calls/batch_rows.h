// Rows of batches in the words of /v1/responses and /v1/messages: the dialects, as batch wants
// them.
#pragma once

#include "batch/row_dialect.h"

namespace windrow::api {

// A row is read by the translation of a call, without responses that are kept, and its result has
// the body of that call's reply.
batch::RowApis row_apis();

}  // namespace windrow::api
