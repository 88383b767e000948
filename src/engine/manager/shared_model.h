// SharedModel: where the loaded model of one name is kept while threads use it. It is put in when
// it is loaded and taken out when it is unloaded, many times; statistics are of all these times
// together.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "llm/backend.h"

namespace windrow::engine {

// A model in memory; its destructor frees it.
class LoadedModel {
 public:
  virtual ~LoadedModel() = default;

  virtual llm::Backend& backend() = 0;

  // The memory it uses. It may grow: contexts are made when they are first needed. Any thread.
  virtual uint64_t bytes() const = 0;
};

// Thread-safe.
class SharedModel {
  struct EndLease {
    SharedModel* model = nullptr;
    void operator()(llm::Backend*) const { model->end_lease(); }
  };

 public:
  // The backend of a loaded model, which stays until the lease is destroyed.
  using Lease = std::unique_ptr<llm::Backend, EndLease>;

  // `in_flight_target`: what in_flight_target() is until a model was loaded.
  explicit SharedModel(int32_t in_flight_target) : in_flight_target_(in_flight_target) {}

  // No model is in it.
  void put(std::unique_ptr<LoadedModel> model);

  // Waits for the end of all leases. Null: no model is in it.
  std::unique_ptr<LoadedModel> take();

  // Null: no model is in it.
  Lease lease();

  // How often a model was put in; constant while a lease is held.
  uint64_t loads() const;

  // Absent: no model is in it.
  std::optional<uint64_t> bytes() const;

  int32_t in_flight_target() const;
  llm::BackendStats stats() const;

 private:
  void end_lease();

  mutable std::mutex mutex_;
  std::condition_variable unused_;  // the last lease has ended
  std::unique_ptr<LoadedModel> model_;
  int32_t leases_ = 0;
  uint64_t loads_ = 0;
  int32_t in_flight_target_;  // of the model that was taken out last
  llm::BackendStats past_;    // counters of all models that were taken out
};

}  // namespace windrow::engine
