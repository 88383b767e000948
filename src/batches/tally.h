// What the logs of a batch come to: rows, tokens, and how far each log is whole.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "batches/batch_record.h"
#include "store/disk.h"

namespace windrow::batches {

struct BatchTally {
  int64_t completed = 0;
  int64_t failed = 0;
  BatchUsage usage;
  int64_t odd = 0;            // lines that are none of ours
  int64_t results_bytes = 0;  // whole lines
  int64_t errors_bytes = 0;
};

// A log that is not there is empty. Lines that are none of ours are passed over. kIo.
Result<BatchTally> tally(store::Disk& disk, const std::string& results, const std::string& errors);

}  // namespace windrow::batches
