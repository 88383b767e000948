#include "engine/manager/shared_model.h"

#include <utility>

#include "base/ensure.h"

namespace windrow::engine {
namespace {

// Without the gauges: they end with the model.
llm::BackendStats counters_of(llm::BackendStats stats) {
  stats.rows_running = 0;
  stats.rows_waiting = 0;
  stats.cells_used = 0;
  stats.cells_cached = 0;
  stats.cells_held = 0;
  stats.cells_max = 0;
  stats.device_bytes_used = 0;
  stats.device_bytes_max = 0;
  return stats;
}

}  // namespace

void SharedModel::put(std::unique_ptr<LoadedModel> model) {
  const std::scoped_lock lock(mutex_);
  ENSURE(model_ == nullptr, "a model was loaded twice");
  model_ = std::move(model);
  ++loads_;
}

std::unique_ptr<LoadedModel> SharedModel::take() {
  std::unique_lock lock(mutex_);
  unused_.wait(lock, [this] { return leases_ == 0; });
  if (model_ != nullptr) {
    in_flight_target_ = model_->backend().in_flight_target();
    past_ += counters_of(model_->backend().stats());
  }
  return std::move(model_);
}

SharedModel::Lease SharedModel::lease() {
  const std::scoped_lock lock(mutex_);
  if (model_ == nullptr) return {};
  ++leases_;
  return Lease(&model_->backend(), EndLease{this});
}

void SharedModel::end_lease() {
  // Notified with the lock: the thread that waits may destroy this object once it is released.
  const std::scoped_lock lock(mutex_);
  if (--leases_ == 0) unused_.notify_all();
}

uint64_t SharedModel::loads() const {
  const std::scoped_lock lock(mutex_);
  return loads_;
}

std::optional<uint64_t> SharedModel::bytes() const {
  const std::scoped_lock lock(mutex_);
  if (model_ == nullptr) return std::nullopt;
  return model_->bytes();
}

int32_t SharedModel::in_flight_target() const {
  const std::scoped_lock lock(mutex_);
  return model_ ? model_->backend().in_flight_target() : in_flight_target_;
}

llm::BackendStats SharedModel::stats() const {
  const std::scoped_lock lock(mutex_);
  llm::BackendStats stats = past_;
  if (model_) stats += model_->backend().stats();
  return stats;
}

}  // namespace windrow::engine
