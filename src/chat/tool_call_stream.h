// ToolCallStream: the content of an answer and its calls of tools, while it is generated. Pure;
// used by one thread.
//
// Invariants: what it has returned is how the content and the calls of the whole answer begin,
// whatever follows; and where the text is cut into pieces makes no difference. So a call is
// returned once it is known to be one: its mark, the name of a tool of the request, and the
// beginning of an object. Until then it is held back, and becomes content as it was written if it
// is none. From then on its arguments are returned as they come. If they break off, what was
// returned stays, and the call is not whole. With CallDelivery::kComplete such a call is content,
// too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "chat/call_reader.h"
#include "chat/tool_call_buffer.h"
#include "chat/tool_syntax.h"

namespace windrow::chat {

class ToolCallStream {
 public:
  using Call = ToolCallBuffer::Call;
  using Delta = ToolCallBuffer::Delta;

  explicit ToolCallStream(std::shared_ptr<const ToolContext> context,
                          CallDelivery delivery = CallDelivery::kStreamed);

  // The answer goes on with `text`: whole characters, without its reasoning. Returns what is
  // decided now, in the order of the answer.
  std::vector<Delta> take(std::string_view text);

  // The answer is over. Returns what was held back. `cut`: generation was stopped early; a call
  // that has begun stays a call, as far as it came.
  std::vector<Delta> end(bool cut = false);

  // How many of the last bytes of the answer so far may still become part of a call or content.
  size_t held_bytes() const { return buffer_.held_bytes(); }

  // How many calls have begun.
  int32_t calls() const { return buffer_.calls(); }

  // Whether the arguments of each of them are complete.
  bool all_whole() const { return buffer_.all_whole(); }

  // Whether all further text is ignored.
  bool over() const { return part_ == Part::kOver; }

 private:
  enum class Part : uint8_t {
    kText,   // up to a mark
    kBare,   // without marks: a call may begin here
    kCall,   // reader_ reads it
    kClose,  // after a call: the rest of what closes it may come
    kNext,   // the next call may come, or the end of them
    kEnd,    // the rest of the end may come
    kOver,
  };

  bool read();
  bool read_text();
  bool read_bare();
  bool read_call();
  bool read_close(Part next);
  bool read_next();
  void begin_call(CallReader::Start start, size_t bytes);

  std::shared_ptr<const ToolContext> context_;
  std::unique_ptr<CallReader> reader_;
  ToolCallBuffer buffer_;
  Part part_ = Part::kText;
  std::string literal_;  // kClose, kEnd
};

// The content and the calls of a whole answer.
struct CallsOfAnswer {
  std::string content;
  std::vector<WrittenCall> calls;
  bool all_whole = true;
};
CallsOfAnswer split_calls(std::shared_ptr<const ToolContext> context, std::string_view content,
                          CallDelivery delivery = CallDelivery::kStreamed, bool cut = false);

}  // namespace windrow::chat
