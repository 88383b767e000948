// ToolCallStream: what an answer says and which tools it calls, told while it is made. Pure.
//
// Invariants: what it has told is how the content and the calls of the whole answer begin, whatever
// follows; and how the text is cut makes no difference. So a call is told when it is known to be
// one: its mark, the name of a tool there is, and the beginning of an object. Until then it is held
// back, and where it turns out to be none it is content, as it was written. From then on its
// arguments are told as they come; where they break off, what came of them stays told, and the
// call is not whole. Who is told of calls only when they are whole (Telling::kWhenWhole) gets such
// a one as content, too.
//
// White space around calls is nobody's: it is content only between what is said.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chat/tool_syntax.h"
#include "chat/tool_table.h"
#include "json/scanner.h"

namespace windrow::chat {

// How the calls of an answer are found.
struct ToolContext {
  ToolSyntax syntax;
  ToolTable tools;
  bool several = true;  // else the answer is over behind its first call

  // An answer that does not begin with a call has none: it has a form of its own, in which a mark
  // is text. Where calls have no mark, one is told when its object has ended.
  bool at_begin_only = false;
};

// When a call is told.
enum class Telling : uint8_t {
  kAtOnce,     // as it comes
  kWhenWhole,  // when its arguments are there
};

class ToolCallStream {
 public:
  struct Call {
    int32_t index = 0;      // of the answer's calls
    std::string name;       // with the first of a call
    std::string arguments;  // some more of them
  };

  // More of both; the content comes first. Several of them are in the order of the answer.
  struct More {
    std::string content;
    std::vector<Call> calls;
  };
  using Told = std::vector<More>;

  explicit ToolCallStream(std::shared_ptr<const ToolContext> context,
                          Telling telling = Telling::kAtOnce);

  // The answer's content, thoughts split off, goes on by whole characters.
  Told take(std::string_view text);

  // It is over: what was held back is told. `cut`: somebody else ended it, and a call that had
  // begun stays one, as far as it came.
  Told end(bool cut = false);

  // Of the content so far the last so many bytes may still become a call or not.
  size_t held_bytes() const { return attempt_.size() + pending_.size() + gap_.size(); }

  int32_t calls() const { return calls_; }

  // Each call is complete, as far as they have come.
  bool all_whole() const { return all_whole_ && (!told_ || whole_); }

  // Nothing that follows is looked at.
  bool over() const { return part_ == Part::kOver; }

 private:
  enum class Part : uint8_t {
    kText,          // up to a mark
    kBare,          // without marks: a call may begin here
    kOpen,          // what is left of `literal_`, then a name
    kListOrObject,  // of JSON behind a mark: the bracket of a list may come
    kObject,        // up to { of a call
    kKey,           // of a member, or }
    kColon,         // behind the key
    kMember,        // its value
    kComma,         // behind a member
    kName,          // without JSON: up to what stands behind the name
    kArguments,     // an object
    kTag,           // of a member, or of the end
    kTagKey,
    kTagValueBegin,  // a line break may come that is not the value's
    kTagValue,
    kClose,   // behind a call: the rest of what closes it may come
    kBehind,  // the next call may come, or the end of them
    kEnd,     // the rest of the end may come
    kOver,
  };

  enum class Match : uint8_t { kNo, kYes, kMore };
  static Match match(std::string_view literal, std::string_view text, size_t& bytes);

  bool go_on(Told& told);
  bool read_text(Told& told);
  bool read_bare(Told& told);
  bool read_open(Told& told);
  bool read_name(Told& told);
  bool read_arguments(Told& told);
  bool read_close();
  bool read_behind();
  bool read_end();
  Match find_name(size_t& bytes);
  Match match_behind_name(std::string_view text, size_t& bytes) const;

  // A call as an object (tool_call_stream_json.cc).
  bool read_list_or_object(Told& told);
  bool read_object(Told& told);
  bool read_key(Told& told);
  bool read_colon(Told& told);
  bool read_member(Told& told);
  bool begin_member(Told& told);
  bool end_member(Told& told);
  bool read_comma(Told& told);
  bool end_object(Told& told);
  bool take_name(std::string name, Told& told);
  bool take_arguments(std::string arguments, Told& told);
  void tell_whole_call(std::string_view arguments, Told& told);
  bool is_beside_form() const;
  bool is_arguments_key() const;

  // A call as tags (tool_call_stream_tags.cc).
  bool read_tag(Told& told);
  bool read_tag_key(Told& told);
  bool read_tag_value_begin();
  bool read_tag_value(Told& told);

  bool skip_space();
  void consume(size_t bytes);
  void attempt(Part part);
  void commit(Told& told);
  void tell_made(Told& told);
  void add_arguments(std::string_view text, Told& told);
  void end_arguments(Told& told);
  void end_call(std::string_view close);
  bool fail(Told& told);
  void leave_call();
  void say(std::string_view text, Told& told);

  const std::shared_ptr<const ToolContext> context_;
  const ToolSyntax& syntax_;
  const Telling telling_when_;

  Part part_ = Part::kText;
  std::string pending_;  // taken and not looked at for good
  std::string gap_;      // white space that is content if something is said behind it
  bool said_ = false;
  int32_t calls_ = 0;
  bool all_whole_ = true;  // those before the present one

  // What may become a call, and has not been told: as it was written.
  bool attempting_ = false;
  std::string attempt_;
  Call made_;  // kWhenWhole: what the attempt has come to

  // The present call is one, and told unless `attempting_`; its arguments are complete.
  bool told_ = false;
  bool whole_ = false;

  std::string literal_;  // kOpen, kClose, kEnd
  std::string name_;
  JsonScanner scan_;

  // As an object. Of a member that is not told as it comes, the value.
  bool in_value_ = false;
  bool telling_ = false;
  std::string key_;
  std::string value_;
  bool named_ = false;
  std::optional<std::string> arguments_;  // that came before the name

  // As tags.
  bool first_member_ = true;
  ValueKind kind_ = ValueKind::kEither;
  size_t searched_ = 0;  // of the value
};

// The same of a whole answer.
struct CallsOfAnswer {
  std::string content;
  std::vector<WrittenCall> calls;
  bool all_whole = true;
};
CallsOfAnswer split_calls(std::shared_ptr<const ToolContext> context, std::string_view content,
                          Telling telling = Telling::kAtOnce, bool cut = false);

}  // namespace windrow::chat
