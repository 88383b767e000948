// ServeStorage: what a server with --data-dir keeps: files, and batches that run from them.
#pragma once

#include <memory>

#include "api/pages/metrics_page.h"
#include "api/storage/storage_calls.h"
#include "app/process/console.h"
#include "app/settings/settings.h"
#include "base/clock.h"
#include "base/result.h"
#include "batches/batch_host.h"
#include "batches/batch_service.h"
#include "batches/data_dir.h"
#include "batches/file_store.h"
#include "store/disk.h"

namespace windrow::app {

class ServeStorage {
 public:
  // Without --data-dir there is none, and nothing below does anything. `disk`, `clock` and
  // `console` outlive it, and `keys`; null: nobody needs one. kIo, kDiskFull, kConflict.
  static Result<ServeStorage> open(const Settings& settings, store::Disk& disk, const Clock& clock,
                                   Console& console, batches::BatchKeys* keys = nullptr);

  api::Storage calls() const { return {files_.get(), batches_.get()}; }

  // Waits for nobody; any thread.
  api::StorageReading reading() const;

  // Once the models are there. `models` outlives stop().
  void start(batches::BatchModels& models);

  // No row starts any more; those that run may finish within `grace`.
  void stop(Duration grace);

 private:
  std::unique_ptr<batches::DataDir> data_;
  std::unique_ptr<batches::FileStore> files_;
  std::unique_ptr<batches::BatchService> batches_;
};

}  // namespace windrow::app
