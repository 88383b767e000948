// ChattyBackend: a thread that answers each request at once, as an engine would: in deltas if it
// has a stream sink, now and then with a failure, and with kCancelled if it is unwanted. Each
// outcome has its usage: a token for each input and for each word.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/random.h"
#include "llm/backend.h"
#include "llm/stream_sink.h"

namespace windrow::api::testing {

class ChattyBackend final : public llm::Backend {
 public:
  ChattyBackend(uint64_t seed, double failures)
      : failures_(failures), random_(seed), thread_([this] { work(); }) {}

  ~ChattyBackend() override {
    {
      const std::scoped_lock lock(mutex_);
      ending_ = true;
      changed_.notify_all();
    }
    thread_.join();
  }

  void submit(llm::BackendCall call, Done done) override {
    const std::scoped_lock lock(mutex_);
    waiting_.push_back({std::move(call), std::move(done)});
    changed_.notify_all();
  }

  int32_t in_flight_target() const override { return 64; }
  llm::BackendStats stats() const override { return {}; }

 private:
  struct Row {
    llm::BackendCall call;
    Done done;
    int32_t said = 0;  // words of its choice
    int32_t words = -1;
  };

  void work() {
    std::vector<Row> running;
    for (;;) {
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return ending_ || !waiting_.empty() || !running.empty(); });
        if (ending_ && waiting_.empty() && running.empty()) return;
        for (Row& row : waiting_)
          running.push_back(std::move(row));
        waiting_.clear();
      }
      std::erase_if(running, [&](Row& row) { return step(row); });
    }
  }

  // True: it has ended.
  bool step(Row& row) {
    if (row.words < 0) row.words = static_cast<int32_t>(random_.below(20));
    if (row.call.unwanted.stop_requested()) {
      row.done(llm::Failure{
          .failure_class = llm::FailureClass::kCancelled, .status = 499, .usage = usage(row)});
      return true;
    }
    if (random_.chance(failures_ / 20)) {
      row.done(llm::Failure{.failure_class = llm::FailureClass::kRequest,
                            .status = 400,
                            .code = "context_length_exceeded",
                            .message = "too long",
                            .usage = usage(row)});
      return true;
    }
    if (row.call.request->endpoint == llm::Endpoint::kEmbeddings) {
      row.done(llm::Answer{.embeddings = std::vector<std::vector<float>>(
                               row.call.request->inputs.size(), {0.5F, 0.5F}),
                           .base64 = row.call.request->base64,
                           .usage = usage(row)});
      return true;
    }
    if (row.call.request->endpoint == llm::Endpoint::kRerank) {
      row.done(llm::Answer{.ranking = {{.index = 0, .score = 1}}, .usage = usage(row)});
      return true;
    }
    if (row.said < row.words) {
      if (row.call.listener) row.call.listener->on_delta({.text = word(row.said)});
      ++row.said;
      return false;
    }
    if (row.call.listener) row.call.listener->on_delta({.finish_reason = llm::FinishReason::kStop});
    llm::Choice choice;
    for (int32_t i = 0; i < row.words; ++i)
      choice.text += word(i);
    row.done(llm::Answer{.choices = {std::move(choice)}, .usage = usage(row)});
    return true;
  }

  // The piece that ends a choice is not one of its words.
  static llm::Usage usage(const Row& row) {
    return {
        .prompt_tokens = static_cast<int32_t>(std::max<size_t>(row.call.request->inputs.size(), 1)),
        .completion_tokens = row.said + 1};
  }

  static std::string word(int32_t i) { return " w" + std::to_string(i); }

  const double failures_;
  Random random_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Row> waiting_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace windrow::api::testing
