// Reasoning models think aloud before they answer. This tells the two apart, as DeepSeek's API
// introduced it: `reasoning_content` beside `content`. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace windrow::chat {

struct ReasoningFormat {
  enum class Kind : uint8_t {
    kNone,      // the model does not mark its thoughts
    kTags,      // <think> ... </think> answer
    kChannels,  // GPT-OSS (harmony): messages, each on a channel that says what it is
  };

  Kind kind = Kind::kNone;
  std::string open;   // kTags
  std::string close;  // kTags

  // What an answer is split at. Where a vocabulary has one as a control token, the text to split
  // must be written with that token shown.
  std::vector<std::string> marks() const;

  friend bool operator==(const ReasoningFormat&, const ReasoningFormat&) = default;
};

// By the marks that a chat template writes or looks for.
ReasoningFormat recognise_reasoning(std::string_view template_source);

struct SplitAnswer {
  std::optional<std::string> reasoning;  // absent when there is none
  std::string content;

  friend bool operator==(const SplitAnswer&, const SplitAnswer&) = default;
};

// How a model marks its thoughts, and how a prompt of its ends.
struct ReasoningContext {
  ReasoningFormat format;
  std::string prompt_end;
};

// `prompt` is what was rendered (its end is enough): some templates open the thoughts themselves.
// An answer that ends while the model still thinks is all reasoning and no content. Line breaks
// around both are dropped where the marks stood.
SplitAnswer split_reasoning(const ReasoningFormat& format, std::string_view prompt,
                            std::string_view answer);

// The parts of `answer` of which its reasoning consists, in their order: views of it.
std::vector<std::string_view> thoughts_in(const ReasoningFormat& format, std::string_view prompt,
                                          std::string_view answer);

}  // namespace windrow::chat
