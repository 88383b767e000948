// What batches ask of those who know the keys: a batch is its key's, and so is what its rows take.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/clock.h"
#include "llm/answer.h"

namespace windrow::batches {

enum class RowEnd : uint8_t {
  kAnswered,
  kFailed,
  kNeither,  // it may run again
};

// Thread-safe. Keys go by their names.
class BatchKeys {
 public:
  virtual ~BatchKeys() = default;

  // False: it was taken back since. Its rows wait until it is there again.
  virtual bool knows(std::string_view key) = 0;

  // WorkItem::weight of its rows.
  virtual int32_t weight_of(std::string_view key) = 0;

  // A row that is likely to take so many tokens wants to start. Zero: it may, and they are taken.
  // Else nothing has changed, and it may ask again after so long; so it is for a key that is gone.
  virtual Duration take(std::string_view key, int64_t tokens) = 0;

  // It took what it used.
  virtual void ended(std::string_view key, int64_t taken, const llm::Usage& used, RowEnd how) = 0;
};

}  // namespace windrow::batches
