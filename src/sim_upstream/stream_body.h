// The body of a stream of a simulated upstream: server-sent events in OpenAI's form, as many of
// them at a time as tokens were made. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim_upstream/model_call.h"
#include "sim_upstream/reply_body.h"

namespace windrow::sim_upstream {

class StreamBody {
 public:
  // `tokens` of each of `choices`: into so many parts its text is cut, at borders of characters.
  // `with_usage`: the last event but one tells the usage, as stream_options.include_usage wants it.
  StreamBody(Endpoint endpoint, const ReplyFacts& facts, std::vector<Choice> choices,
             std::vector<int64_t> tokens, bool with_usage);

  // The events of the next `count` tokens of every choice that has more; the first of a chat says
  // who speaks, the last of a choice why it ends. A token without text makes no event.
  std::string next(int64_t count);

  // After all tokens: the usage, if it was asked for, and the mark of the end unless that is left
  // out.
  std::string end(bool mark = true) const;

 private:
  std::string event(std::string_view choices) const;
  std::string event_of(size_t choice, std::string_view delta, std::string_view reason) const;
  std::string text_delta(std::string_view text) const;

  Endpoint endpoint_;
  std::string head_;   // of each event, up to its choices
  std::string usage_;  // JSON; empty: not asked for
  std::vector<Choice> choices_;
  std::vector<int64_t> tokens_;
  int64_t made_ = 0;
  bool begun_ = false;
};

// An event that says what went wrong, and one that is no JSON.
std::string error_event(std::string_view message, std::string_view type);
std::string garbage_event();

}  // namespace windrow::sim_upstream
