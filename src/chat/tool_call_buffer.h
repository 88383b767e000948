// ToolCallBuffer: the text of an answer that is not decided yet, and the deltas that came of it.
// The readers of calls consume its text; it knows which of that text may still turn out to be
// content. Pure; used by one thread.
//
// White space around calls is dropped: it is content only between two pieces of content.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace windrow::chat {

// When a call is delivered.
enum class CallDelivery : uint8_t {
  kStreamed,  // its arguments as they come
  kComplete,  // once its arguments are complete
};

class ToolCallBuffer {
 public:
  struct Call {
    int32_t index = 0;      // among the calls of the answer
    std::string name;       // in the first delta of a call; empty in later ones
    std::string arguments;  // the next part of them
  };

  // Content comes before the calls. Content after a call begins a new delta.
  struct Delta {
    std::string content;
    std::vector<Call> calls;
  };

  explicit ToolCallBuffer(CallDelivery delivery) : delivery_(delivery) {}

  // --- the text that is not consumed yet

  void append(std::string_view text) { pending_ += text; }
  std::string_view text() const { return pending_; }
  bool empty() const { return pending_.empty(); }

  // The first `bytes` belong to a call or to what surrounds calls. During an attempt they are held
  // back, and become content if it fails.
  void consume(size_t bytes);

  // Consumes white space. Returns whether other text follows.
  bool skip_space();

  // The first `bytes` are content.
  void emit_content(size_t bytes);

  void drop_text() { pending_.clear(); }

  // --- calls, in this order

  // The text consumed from here on may become a call.
  void begin_attempt() { attempting_ = true; }
  // It is a call of this tool.
  void begin_call(std::string_view name);
  void add_arguments(std::string_view text);
  void end_arguments();
  void end_call() { in_call_ = false; }

  // Instead, at any time: this is no call, or a broken one. Its undelivered text becomes content.
  void fail();

  // The answer is over. `after_call`: the text left is what closes a call. `cut`: generation was
  // stopped early; a call that has begun stays a call, as far as it came.
  void finish(bool after_call, bool cut);

  // --- results

  // The deltas since the last time.
  std::vector<Delta> take_deltas();

  // How many of the last bytes of the answer so far may still become part of a call or content.
  size_t held_bytes() const { return attempt_.size() + pending_.size() + gap_.size(); }

  int32_t calls() const { return calls_; }
  bool in_call() const { return in_call_; }
  bool has_content() const { return has_content_; }

  // Whether the arguments of the last call are complete.
  bool last_is_whole() const { return whole_; }
  // Whether those of all calls are.
  bool all_whole() const { return all_whole_ && (!in_call_ || whole_); }

 private:
  void emit_text(std::string_view text);
  void add_content(std::string_view text);
  void add_call(Call call);
  void deliver_held();
  void discard_call();

  const CallDelivery delivery_;
  std::vector<Delta> deltas_;
  std::string pending_;
  std::string gap_;  // white space that is content if more content follows
  bool has_content_ = false;
  int32_t calls_ = 0;
  bool all_whole_ = true;  // all calls before the current one

  // The text of an attempt, as it was written; `call_`: with kComplete, the call so far.
  bool attempting_ = false;
  std::string attempt_;
  Call call_;

  bool in_call_ = false;  // the attempt is a call: begin_call() to end_call()
  bool whole_ = false;
};

}  // namespace windrow::chat
