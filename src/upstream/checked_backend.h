// CheckedBackend: passes all answers of a server that come as a whole through a MixUpWatch. Streams
// are not checked: they have been passed on when they end, and a code may lie across two of their
// events. The planted questions are no streams, and detect mix-ups of streams, too.
#pragma once

#include <string>

#include "llm/backend.h"
#include "upstream/mix_up_watch.h"

namespace windrow::upstream {

class CheckedBackend final : public llm::Backend {
 public:
  // `inner` takes raw bodies; it and `watch` outlive this. `name` is for messages.
  CheckedBackend(llm::Backend& inner, std::string name, MixUpWatch& watch)
      : inner_(inner), name_(std::move(name)), watch_(watch) {}

  void submit(llm::BackendCall call, Done done) override {
    const std::optional<uint64_t> question = watch_.question_of(*call.request);
    inner_.submit(std::move(call), [this, question, done = std::move(done)](llm::Outcome outcome) {
      done(watch_.judge(name_, question, std::move(outcome)));
    });
  }
  int32_t in_flight_target() const override { return inner_.in_flight_target(); }
  llm::BackendStats stats() const override { return inner_.stats(); }

 private:
  llm::Backend& inner_;
  const std::string name_;
  MixUpWatch& watch_;
};

}  // namespace windrow::upstream
