// What the server gives to its batches, beside the models that answer rows (dispatch::Models):
// options and the API keys that own batches. `api` implements BatchKeys.
#pragma once

#include <boost/json/object.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "batch/row_dialect.h"
#include "llm/answer.h"
#include "llm/request_json.h"

namespace windrow::batches {

enum class RowEnd : uint8_t {
  kAnswered,
  kFailed,
  kNeither,  // the row may run again
};

// Thread-safe. Keys are identified by name.
class BatchKeys {
 public:
  virtual ~BatchKeys() = default;

  // False if the key was revoked. Its rows wait until the key exists again.
  virtual bool knows(std::string_view key) = 0;

  // WorkItem::weight of the key's rows.
  virtual int32_t weight_of(std::string_view key) = 0;

  // A row that is expected to use `tokens` wants to start. Zero: it may start, and the tokens are
  // taken. Otherwise nothing is taken, and the result is how long to wait before asking again; this
  // is also the answer for a revoked key.
  virtual Duration take(std::string_view key, int64_t tokens) = 0;

  // A row ended that took `taken` tokens and used `used`.
  virtual void ended(std::string_view key, int64_t taken, const llm::Usage& used, RowEnd how) = 0;
};

struct BatchOptions {
  // How many batches run at the same time. As many again may run for keys that have none running.
  int32_t running_max = 2;
  int64_t rows_max = 50'000;  // of one batch; also bounds its texts to embed
  bool mixed_models = false;  // rows of one file may name several models

  // Bounds the unpacked size of an input: a few bytes of gzip can expand to gigabytes, and
  // validation handles one file at a time.
  uint64_t text_bytes_max = uint64_t{2} << 30;

  boost::json::object body_defaults;  // defaults for every body
  llm::UnknownFields unknown_fields = llm::UnknownFields::kRefuse;
  batch::RowApis apis = {};   // other APIs whose bodies rows may have
  BatchKeys* keys = nullptr;  // outlives the service; null: the server demands no keys

  // The pause before a batch that could not continue is tried again.
  Duration retry_after = std::chrono::seconds(10);

  // Reports damage and blocked batches to the operator. Called on any thread.
  std::function<void(const std::string&)> warn;
};

}  // namespace windrow::batches
