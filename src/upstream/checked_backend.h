// CheckedBackend: a Backend that plants questions among the rows of another one (self_check.h). A
// question takes the place of the row it follows: that row's Done waits for it, so there is never
// one request more in flight than was asked for.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "llm/backend.h"
#include "upstream/self_check.h"

namespace windrow::upstream {

class CheckedBackend final : public llm::Backend {
 public:
  // `inner` takes raw bodies and outlives it; `name` is for messages. Once answers were mixed up,
  // every further one ends as kBackend.
  CheckedBackend(llm::Backend& inner, std::string name, uint64_t seed);

  void submit(llm::Request request, Done done) override;
  void cancel_waiting() override { inner_.cancel_waiting(); }
  void cancel_all() override { inner_.cancel_all(); }
  int32_t in_flight_target() const override { return inner_.in_flight_target(); }
  llm::BackendStats stats() const override { return inner_.stats(); }

  SelfCheckCounts counts() const;

 private:
  struct State {
    explicit State(uint64_t seed) : check(seed) {}
    llm::Outcome judged(llm::Outcome outcome);
    void see(uint64_t number, const llm::Outcome& outcome);

    std::mutex mutex;
    SelfCheck check;
    std::string name;
    std::string fault;  // what was seen first; empty: nothing
  };

  void plant(std::string model, llm::Outcome outcome, Done done);

  llm::Backend& inner_;

  // Shared with what waits for answers.
  std::shared_ptr<State> state_;
};

}  // namespace windrow::upstream
