// WatchedSink: passes a reply on to the sink of an item and knows whether it has begun: a call that
// failed is tried again only if it has not.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>

#include "llm/reply_sink.h"

namespace windrow::dispatch {

class WatchedSink final : public llm::ReplySink {
 public:
  explicit WatchedSink(std::shared_ptr<llm::ReplySink> sink) : sink_(std::move(sink)) {}

  size_t bytes_max() const override { return sink_->bytes_max(); }
  void on_begin(std::function<void()> resume) override {
    begun_ = true;
    sink_->on_begin(std::move(resume));
  }
  Take on_bytes(std::string_view bytes) override {
    begun_ = true;
    return sink_->on_bytes(bytes);
  }

  // Any thread.
  bool has_begun() const { return begun_; }

  // The item has ended, so nothing more comes: the sink is its owner's again.
  void let_go() { sink_ = nullptr; }

 private:
  std::shared_ptr<llm::ReplySink> sink_;
  std::atomic<bool> begun_ = false;
};

}  // namespace windrow::dispatch
