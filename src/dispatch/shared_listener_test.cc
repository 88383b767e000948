#include "dispatch/shared_listener.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/random.h"

namespace windrow::dispatch {
namespace {

class Pieces final : public llm::StreamSink {
 public:
  void on_delta(llm::Delta piece) override { heard.push_back(std::move(piece)); }

  std::vector<llm::Delta> heard;
};

llm::Delta text(std::string text, int32_t choice = 0) {
  llm::Delta piece;
  piece.choice = choice;
  piece.text = std::move(text);
  return piece;
}

// The deltas of each choice put together, as a listener may do it.
std::vector<llm::Delta> joined(const std::vector<llm::Delta>& pieces, int32_t choices) {
  std::vector<llm::Delta> all(static_cast<size_t>(choices));
  for (const llm::Delta& piece : pieces) {
    llm::Delta& whole = all.at(static_cast<size_t>(piece.choice));
    whole.choice = piece.choice;
    whole.text += piece.text;
    whole.reasoning += piece.reasoning;
    whole.refusal += piece.refusal;
    whole.raw += piece.raw;
    whole.tokens.insert(whole.tokens.end(), piece.tokens.begin(), piece.tokens.end());
    if (piece.finish_reason) whole.finish_reason = piece.finish_reason;
    whole.cut_character = whole.cut_character || piece.cut_character;
    if (piece.stopped_by) whole.stopped_by = piece.stopped_by;
  }
  return all;
}

TEST(SharedListener, PassesPiecesOnAsTheyAre) {
  SharedListener shared(false);
  const auto only = std::make_shared<Pieces>();
  shared.join(only);
  EXPECT_FALSE(shared.has_begun());
  shared.on_delta(text("a"));
  shared.on_delta(text("b", 1));
  EXPECT_TRUE(shared.has_begun());
  EXPECT_EQ(only->heard, (std::vector<llm::Delta>{text("a"), text("b", 1)}));
}

TEST(SharedListener, EventsOfAServerAreToldOneByOne) {
  SharedListener shared(true);
  for (const char* event : {"{1}", "{2}", "{3}"}) {
    llm::Delta piece;
    piece.raw = event;
    shared.on_delta(std::move(piece));
  }
  const auto late = std::make_shared<Pieces>();
  shared.finish(shared.join(late), [] {});
  ASSERT_EQ(late->heard.size(), 3U);
  EXPECT_EQ(late->heard[1].raw, "{2}");
}

TEST(SharedListener, WhatIsKeptIsNoMoreThanTheAnswer) {
  SharedListener shared(true);
  for (int i = 0; i < 1000; ++i)
    shared.on_delta(text("x", i % 2));
  const auto late = std::make_shared<Pieces>();
  shared.finish(shared.join(late), [] {});
  ASSERT_EQ(late->heard.size(), 2U);
  EXPECT_EQ(late->heard[0].text, std::string(500, 'x'));
}

TEST(SharedListener, TextAfterACallStaysAfterItForALateListener) {
  SharedListener shared(true);
  shared.on_delta(text("before "));
  llm::Delta call;
  call.tool_calls.resize(1);
  shared.on_delta(call);
  shared.on_delta(text("after "));
  shared.on_delta(text("it"));
  const auto late = std::make_shared<Pieces>();
  shared.finish(shared.join(late), [] {});
  ASSERT_EQ(late->heard.size(), 2U);
  EXPECT_EQ(late->heard[0].text, "before ");
  EXPECT_EQ(late->heard[0].tool_calls.size(), 1U);
  EXPECT_EQ(late->heard[1].text, "after it");
}

// Asks the SharedListener, which takes its lock, when it is destroyed.
class Asking final : public llm::StreamSink {
 public:
  Asking(SharedListener& shared, int& destroyed) : shared_(shared), destroyed_(destroyed) {}
  ~Asking() override { destroyed_ += shared_.has_begun() ? 10 : 1; }
  Asking(const Asking&) = delete;
  Asking& operator=(const Asking&) = delete;

  void on_delta(llm::Delta) override {
    shared_.leave(member, [] {});
  }

  SharedListener::Member member = 0;

 private:
  SharedListener& shared_;
  int& destroyed_;
};

TEST(SharedListener, ListenersAreDestroyedWithoutTheLock) {
  SharedListener shared(true);
  int destroyed = 0;
  shared.leave(shared.join(std::make_shared<Asking>(shared, destroyed)), [] {});
  EXPECT_EQ(destroyed, 1);
  {
    auto leaver = std::make_shared<Asking>(shared, destroyed);
    Asking& here = *leaver;
    here.member = shared.join(std::move(leaver));
  }
  shared.on_delta(text("a"));
  EXPECT_EQ(destroyed, 11);
}

// Joining, leaving and ending at random: each hears the answer from its beginning, as far as it
// stays.
TEST(SharedListener, EachHearsTheSame) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    SharedListener shared(true);
    constexpr int32_t kChoices = 3;
    std::vector<llm::Delta> said;
    std::vector<bool> finished(kChoices, false);
    struct One {
      std::shared_ptr<Pieces> pieces = std::make_shared<Pieces>();
      SharedListener::Member member = 0;
      std::optional<size_t> left_after = {};  // pieces
    };
    std::vector<One> all;
    for (int step = 0; step < 60; ++step) {
      const double draw = random.unit();
      if (draw < 0.2) {
        One one;
        one.member = shared.join(one.pieces);
        all.push_back(one);
      } else if (draw < 0.3 && !all.empty()) {
        One& one = all[random.below(all.size())];
        if (one.left_after) continue;
        one.left_after = said.size();
        bool over = false;
        shared.leave(one.member, [&] { over = true; });
        EXPECT_TRUE(over);
      } else {
        const auto choice = static_cast<int32_t>(random.below(kChoices));
        if (finished[static_cast<size_t>(choice)]) continue;
        llm::Delta piece = text(std::string(1 + random.below(3), 'a'), choice);
        piece.text += std::to_string(step);
        if (random.chance(0.3)) piece.reasoning = "r" + std::to_string(step);
        if (random.chance(0.1)) piece.refusal = "no" + std::to_string(step);
        if (random.chance(0.3)) piece.tokens.resize(1 + random.below(2));
        if (random.chance(0.05)) {
          piece.finish_reason = llm::FinishReason::kLength;
          piece.cut_character = random.chance(0.5);
          if (random.chance(0.5)) piece.stopped_by = "stop";
          finished[static_cast<size_t>(choice)] = true;
        }
        said.push_back(piece);
        shared.on_delta(piece);
      }
    }
    for (One& one : all) {
      if (!one.left_after) shared.finish(one.member, [] {});
      // A listener that joined after a delta and left before the next one got nothing.
      if (one.left_after && one.pieces->heard.empty()) continue;
      const auto until = static_cast<std::ptrdiff_t>(one.left_after.value_or(said.size()));
      EXPECT_EQ(joined(one.pieces->heard, kChoices),
                joined({said.begin(), said.begin() + until}, kChoices));
    }
  }
}

TEST(SharedListener, ManyMayJoinAndLeaveWhileItSpeaks) {
  SharedListener shared(true);
  const auto staying = std::make_shared<Pieces>();
  const auto member = shared.join(staying);
  constexpr int kThreads = 2;
  std::vector<std::jthread> threads;
  threads.reserve(kThreads);
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&] {
      for (int i = 0; i < 300; ++i) {
        const auto own = std::make_shared<Pieces>();
        std::atomic<bool> over = false;
        shared.leave(shared.join(own), [&] {
          over = true;
          over.notify_all();
        });
        over.wait(false);
        std::string heard;
        for (const llm::Delta& piece : own->heard)
          heard += piece.text;
        EXPECT_EQ(heard, std::string(heard.size(), 'x'));
      }
    });
  }
  for (int i = 0; i < 1000; ++i)
    shared.on_delta(text("x"));
  threads.clear();
  bool over = false;
  shared.finish(member, [&] { over = true; });
  EXPECT_TRUE(over);
  EXPECT_EQ(joined(staying->heard, 1).front().text, std::string(1000, 'x'));
}

}  // namespace
}  // namespace windrow::dispatch
