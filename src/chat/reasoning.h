// Reasoning models write their reasoning before the answer. This separates the two, as DeepSeek's
// API introduced it: `reasoning_content` beside `content`. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace windrow::chat {

struct ReasoningFormat {
  enum class Kind : uint8_t {
    kNone,      // the model does not mark its reasoning
    kTags,      // <think> ... </think> answer
    kChannels,  // GPT-OSS (harmony): messages, each on a channel that says what it is
  };

  Kind kind = Kind::kNone;
  std::string open;   // kTags
  std::string close;  // kTags

  // The texts at which an answer is split. If one of them is a control token of the vocabulary, the
  // text to split must be written with that token shown.
  std::vector<std::string> marks() const;

  friend bool operator==(const ReasoningFormat&, const ReasoningFormat&) = default;
};

// Finds the format by the marks that a chat template writes or looks for.
ReasoningFormat recognise_reasoning(std::string_view template_source);

// The reasoning format of a model, and how the prompt of a request ends.
struct ReasoningContext {
  ReasoningFormat format;
  std::string prompt_end;
};

struct SplitAnswer {
  std::optional<std::string> reasoning;  // absent when there is none
  std::string content;

  friend bool operator==(const SplitAnswer&, const SplitAnswer&) = default;
};

// Splits a whole answer. `prompt` is the rendered prompt, or its end: some templates open the
// reasoning themselves. An answer that ends within its reasoning has no content. Line breaks around
// the marks are dropped.
SplitAnswer split_reasoning(const ReasoningFormat& format, std::string_view prompt,
                            std::string_view answer);

// The parts of `answer` that are reasoning, in their order: views of it.
std::vector<std::string_view> reasoning_parts(const ReasoningFormat& format,
                                              std::string_view prompt, std::string_view answer);

// Splits an answer while it is generated. Used by one thread.
//
// Invariant: what it has returned is how the reasoning and the content of split_reasoning() begin,
// whatever follows. So it holds back what may be the beginning of a mark, white space that may end
// the reasoning, and what may be the header of a message.
class ReasoningStream {
 public:
  // As for split_reasoning.
  ReasoningStream(ReasoningFormat format, std::string_view prompt);

  // More of both.
  struct Delta {
    std::string reasoning;
    std::string content;
  };

  // The answer goes on with `text`: whole characters. Returns what is decided now.
  Delta take(std::string_view text);

  // How many of the last bytes of the answer so far may still become reasoning, content or neither.
  size_t held_bytes() const {
    return pending_.size() + (part_ == Part::kReasoning ? trailing_ : 0);
  }

 private:
  enum class Part : uint8_t {
    kOpening,    // tags: the opening mark may come
    kHeader,     // channels: up to <|message|>
    kReasoning,  // up to a closing mark
    kBetween,    // tags: line breaks after the reasoning
    kContent,    // channels: up to the end of the message; else everything
  };

  bool read(Delta& delta);
  bool read_opening();
  bool read_header(Delta& delta);
  bool read_message(Delta& delta);
  bool skip_line_breaks();
  void add_reasoning(std::string_view text, Delta& delta);
  void add_content(std::string_view text, Delta& delta);

  const ReasoningFormat format_;
  Part part_ = Part::kContent;
  bool opened_by_prompt_ = false;
  bool has_reasoning_ = false;
  bool has_content_ = false;
  bool message_ended_ = false;  // channels: the text may begin with what ended a message
  bool is_call_ = false;        // channels: the current message calls a tool of the request
  std::string pending_;         // not decided yet
  std::string gap_;      // white space after the reasoning so far: part of it if more follows
  size_t trailing_ = 0;  // bytes of the gap that are of the current message
};

}  // namespace windrow::chat
