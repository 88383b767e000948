// ServeStorage: the files and batches of a server with --data-dir.
#pragma once

#include <cstdint>
#include <memory>

#include "api/server_part.h"
#include "app/process/console.h"
#include "app/settings/settings.h"
#include "base/clock.h"
#include "base/result.h"
#include "batches/batch_host.h"
#include "batches/batch_service.h"
#include "batches/data_dir.h"
#include "batches/file_store.h"
#include "dispatch/models.h"
#include "store/disk.h"

namespace windrow::app {

class ServeStorage {
 public:
  // Without --data-dir it is empty, and its methods do nothing. `disk`, `clock`, `console` and
  // `keys` (null: requests need no key) outlive it. Errors: kIo, kDiskFull, kConflict.
  static Result<ServeStorage> open(const Settings& settings, store::Disk& disk, const Clock& clock,
                                   Console& console, batches::BatchKeys* keys = nullptr);

  // /v1/files and /v1/batches, for ApiOptions::parts; empty, they say that there is no --data-dir.
  // The server that has the part ends before this does.
  api::PartFactory part(int32_t transfers_max) const;

  // Runs batches from now on: call it when the models are ready. `models` outlives stop().
  void start(dispatch::Models& models);

  // Starts no further row; blocks until running rows have ended, for at most `grace`.
  void stop(Duration grace);

 private:
  std::unique_ptr<batches::DataDir> data_;
  std::unique_ptr<batches::FileStore> files_;
  std::unique_ptr<batches::BatchService> batches_;
};

}  // namespace windrow::app
