// What a file holds that should hold requests: the first bytes tell a table, records or a text from
// a batch file, before any row runs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "batch/input.h"
#include "table/record.h"
#include "table/record_reader.h"

namespace windrow::table {

enum class Contents : uint8_t {
  kRequests,      // lines of a batch file, or what cannot be told from damaged ones
  kRequestArray,  // requests as the elements of one JSON array
  kCsv,           // the others are tables
  kJsonArray,
  kJsonLines,
  kText,
};

// `front`: the first bytes of a file, decompressed; `whole`: there are no others. Pure.
Contents contents_of(std::string_view front, bool whole, std::string_view name);

// Whether a record is a line of a batch file.
bool is_request(const Record& record);

// Whether the input of `windrow run` without templates can be a file of requests; one that can be
// read only once is not looked at. kInvalid: it is a table or a text; the message says which
// command reads it. Fails as Input::open.
Result<void> check_requests(batch::Input& input);

}  // namespace windrow::table
