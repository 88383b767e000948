// Records that are JSON objects, as the elements of one array or on a line each; and lines of text.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "table/record_bytes.h"
#include "table/record_reader.h"

namespace windrow::table {

// The elements of an array, one at a time: the array is never held as a whole.
std::unique_ptr<RecordReader> read_json_array(std::unique_ptr<RecordBytes> bytes, std::string name,
                                              const ReadOptions& options);

// Lines, each an object (kJsonLines) or the value of the column "text" (kText).
std::unique_ptr<RecordReader> read_lines(std::unique_ptr<RecordBytes> bytes, std::string name,
                                         RecordFormat format, const ReadOptions& options);

}  // namespace windrow::table
