// OfferRig: a dispatcher on a clock and a backend that the test moves, and how its requests end.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "base/testing/manual_clock.h"
#include "dispatch/dispatcher.h"
#include "dispatch/testing/held_backend.h"
#include "dispatch/testing/manual_waker.h"
#include "llm/stream_sink.h"

namespace windrow::dispatch::testing {

// Keeps what it hears.
class Notes final : public llm::StreamSink {
 public:
  void on_delta(llm::Delta piece) override {
    text += piece.text;
    ++pieces;
    if (on_heard) on_heard();
  }

  std::string text;
  int pieces = 0;
  std::function<void()> on_heard;
};

class OfferRig {
 public:
  explicit OfferRig(DispatchOptions options)
      : dispatcher({{.backend = &backend}}, std::move(options), clock, waker) {}

  // Of a test that failed there may be something left.
  ~OfferRig() { dispatcher.cancel_all(); }
  OfferRig(const OfferRig&) = delete;
  OfferRig& operator=(const OfferRig&) = delete;

  // A request that is known by its name; ended in `ends`.
  std::optional<ItemId> offer(const std::string& name, WorkItem item = {},
                              std::shared_ptr<llm::StreamSink> listener = nullptr) {
    llm::Request request;
    request.model = name;
    return dispatcher.offer(std::move(request), item, 0,
                            [this, name](DispatchResult result) {
                              const bool fresh = ends.emplace(name, std::move(result)).second;
                              EXPECT_TRUE(fresh) << name << " ended twice";
                            },
                            {.listener = std::move(listener)});
  }

  bool has_ended(const std::string& name) const { return ends.contains(name); }
  bool was_answered(const std::string& name) const {
    return has_ended(name) && std::holds_alternative<llm::Answer>(ends.at(name).outcome);
  }
  llm::FailureClass failure_class(const std::string& name) const {
    return std::get<llm::Failure>(ends.at(name).outcome).failure_class;
  }
  bool was_cancelled(const std::string& name) const {
    return has_ended(name) && !was_answered(name) &&
           failure_class(name) == llm::FailureClass::kCancelled;
  }

  std::map<std::string, DispatchResult> ends;
  HeldBackend backend;
  windrow::testing::ManualClock clock;
  ManualWaker waker{clock};
  Dispatcher dispatcher;
};

}  // namespace windrow::dispatch::testing
