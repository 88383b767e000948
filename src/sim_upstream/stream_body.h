// A stream of a simulated upstream: its body as server-sent events in OpenAI's form, as many at a
// time as tokens were made, and the faults that strike it in the middle. Pure.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim_upstream/faults.h"
#include "sim_upstream/long_body.h"
#include "sim_upstream/options.h"
#include "sim_upstream/reply.h"

namespace windrow::sim_upstream {

// What the events of a stream are made by.
class EventSource {
 public:
  virtual ~EventSource() = default;

  // The events of the next `count` tokens.
  virtual std::string next(int64_t count) = 0;

  // The events after all tokens, with `mark` "[DONE]" at their end.
  virtual LongBody end(bool mark) = 0;
};

// An event with `data`.
std::string sse(std::string_view data);

// Where the first `tokens` of `all` tokens end in `text`, between two characters.
size_t text_end(std::string_view text, int64_t tokens, int64_t all);

class StreamBody : public EventSource {
 public:
  // `tokens`: how many each of `choices` has; its text is cut into so many parts, between
  // characters. `with_usage`: the last event but one has the usage (stream_options.include_usage).
  StreamBody(Endpoint endpoint, const ReplyFacts& facts, std::vector<Choice> choices,
             std::vector<int64_t> tokens, bool with_usage);

  // The events of the next `count` tokens of every choice that has more. The first event of a chat
  // has the role, the last one of a choice the finish reason. A token without text makes no event.
  std::string next(int64_t count) override;

  // The usage, if it was asked for, and with `mark` "[DONE]".
  LongBody end(bool mark) override;

 private:
  std::string event(std::string_view choices) const;
  std::string event_of(size_t choice, std::string_view delta, std::string_view reason) const;
  std::string text_delta(std::string_view text) const;

  Endpoint endpoint_;
  std::string head_;   // the JSON of each event up to its choices
  std::string usage_;  // JSON; empty: not asked for
  std::vector<Choice> choices_;
  std::vector<int64_t> tokens_;
  int64_t made_ = 0;
  bool begun_ = false;
};

// One answer that is streamed: how far it is, and what a fault does to it.
class StreamRun {
 public:
  // `tokens`: of its longest choice. Of the faults only those of streams matter.
  StreamRun(std::unique_ptr<EventSource> body, int64_t tokens, std::optional<FaultKind> fault)
      : body_(std::move(body)), tokens_(tokens), fault_(fault) {}

  // Tokens that each choice has by now, where it has so many.
  int64_t made() const { return made_; }

  // Makes the next `tokens` tokens.
  struct Step {
    enum class Then : uint8_t {
      kGoesOn,  // send the events; more will follow
      kMade,    // send the events; all tokens are made, and take_rest() has the end
      kBroken,  // send the events as `delivery` says, and nothing after them
    };
    Then then = Then::kGoesOn;
    std::string events;
    bool held_back = false;  // nothing is sent now
    Delivery delivery = Delivery::kPart;
    std::optional<FaultKind> struck;  // the fault had its effect in this step
  };
  Step step(int64_t tokens);

  // What is left to send after kMade: the end, behind what a fault held back.
  LongBody take_rest() { return std::move(rest_); }

 private:
  bool has(FaultKind kind) const { return fault_ == kind; }
  void strike(Step& step);

  std::unique_ptr<EventSource> body_;
  int64_t tokens_;
  std::optional<FaultKind> fault_;
  int64_t made_ = 0;
  LongBody rest_;
};

}  // namespace windrow::sim_upstream
