// CallReader: reads one call of a tool in the format of a model family. ToolCallStream finds where
// a call may begin and ends what surrounds it; a reader takes what lies between. Pure; used by one
// thread.
//
// A reader begins a call in the buffer (ToolCallBuffer::begin_call) as soon as it is known to be
// one: the name of a tool of the request, and the beginning of an object.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "chat/tool_call_buffer.h"
#include "chat/tool_syntax.h"
#include "chat/tool_table.h"

namespace windrow::chat {

// How the calls of an answer are found.
struct ToolContext {
  ToolSyntax syntax;
  ToolTable tools;
  bool several = true;  // else the answer is over after its first call

  // The answer has another required form (a schema, say), so that a mark inside it is text: an
  // answer that does not begin with a call has none. Where calls have no mark, a call counts when
  // its object has ended.
  bool at_begin_only = false;
};

class CallReader {
 public:
  // The text that was consumed before the call.
  enum class Start : uint8_t {
    kAfterMark,  // ToolSyntax::mark, of the first call
    kAfterOpen,  // everything before the name or the object, up to and including ToolSyntax::open
  };

  enum class Progress : uint8_t {
    kWaiting,   // needs more text
    kAdvanced,  // read something; goes on
    kEnded,     // the call is over, but for what closes it
    kFailed,    // this is no call, or a broken one
  };

  virtual ~CallReader() = default;

  virtual void begin(Start start) = 0;

  // The buffer has text. Consumes some of it, unless it returns kWaiting.
  virtual Progress read(ToolCallBuffer& buffer) = 0;

  // After kEnded: the rest of ToolSyntax::close that may follow.
  virtual std::string_view rest_of_close() const = 0;
};

// For ToolSyntax::Form::kJson and for calls without a mark: {"name": ..., "arguments": {...}}, with
// its members in any order and others beside them. `context` outlives the reader.
std::unique_ptr<CallReader> make_json_call_reader(const ToolContext& context);

// For kNamed and kTagged: a name, then an object; or a name, then members between tags, of which it
// makes an object. `context` outlives the reader.
std::unique_ptr<CallReader> make_named_call_reader(const ToolContext& context);

// Whether `text` begins with `literal`, apart from white space in both. kMaybe: all of `text` fits,
// but it is too short. Sets `bytes` to the length of the literal in `text`.
enum class Match : uint8_t { kNo, kYes, kMaybe };
Match match_literal(std::string_view literal, std::string_view text, size_t& bytes);

}  // namespace windrow::chat
