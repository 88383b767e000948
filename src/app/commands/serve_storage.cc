#include "app/commands/serve_storage.h"

#include <string>
#include <utility>
#include <vector>

#include "api/calls/batch_rows.h"
#include "api/storage/storage_calls.h"
#include "app/settings/run_options.h"

namespace windrow::app {
namespace {

constexpr int64_t kStorageMebibyte = int64_t{1} << 20;

// A packed file may become so many times the largest file's size.
constexpr uint64_t kUnpackedTimes = 4;

}  // namespace

Result<ServeStorage> ServeStorage::open(const Settings& settings, store::Disk& disk,
                                        const Clock& clock, Console& console,
                                        batches::BatchKeys* keys) {
  ServeStorage storage;
  if (settings.data_dir.empty()) return storage;
  std::vector<std::string> warnings;
  Result<std::unique_ptr<batches::DataDir>> data =
      batches::DataDir::open(settings.data_dir, warnings);
  for (const std::string& warning : warnings)
    console.warn(warning);
  if (!data) return data.error().in("--data-dir");
  storage.data_ = *std::move(data);
  storage.data_->set_warn([&console](const std::string& what) { console.warn(what); });
  Result<std::unique_ptr<batches::FileStore>> files =
      batches::FileStore::open(*storage.data_, disk, clock,
                               {.file_bytes_max = settings.file_mb_max * kStorageMebibyte,
                                .total_bytes_max = settings.files_mb_max * kStorageMebibyte});
  if (!files) return files.error().in("--data-dir");
  storage.files_ = *std::move(files);
  batches::BatchOptions options{
      .running_max = static_cast<int32_t>(settings.batches_max),
      .rows_max = settings.batch_rows_max,
      .mixed_models = settings.mixed_models,
      .text_bytes_max =
          kUnpackedTimes * static_cast<uint64_t>(settings.file_mb_max * kStorageMebibyte),
      .body_defaults = {},
      .unknown_fields = unknown_fields_of(settings),
      .apis = api::row_apis(),
      .keys = keys,
      .warn = [&console](const std::string& what) { console.warn(what); }};
  for (const auto& [field, value] : settings.body_defaults)
    options.body_defaults[field] = value;
  Result<std::unique_ptr<batches::BatchService>> service =
      batches::BatchService::open(*storage.data_, *storage.files_, disk, clock, std::move(options));
  if (!service) return service.error().in("--data-dir");
  storage.batches_ = *std::move(service);
  return storage;
}

api::PartFactory ServeStorage::part(int32_t transfers_max) const {
  return api::storage_part(
      {.files = files_.get(), .batches = batches_.get(), .transfers_max = transfers_max});
}

void ServeStorage::start(dispatch::Models& models) {
  if (batches_) batches_->start(models);
}

void ServeStorage::stop(Duration grace) {
  if (batches_) batches_->stop(grace);
}

}  // namespace windrow::app
