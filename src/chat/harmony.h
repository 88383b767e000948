// Harmony, the format of GPT-OSS: one message after the other,
//
//   [<|start|>ROLE] [<|channel|>NAME] <|message|>TEXT end
//
// A message on the analysis channel is reasoning; all others are content. A message with a
// recipient, " to=NAME" in its header, calls a tool. Its header is kept in the content, where
// readers of calls find it, always in one spelling (kCallOpen), though models have several. Pure.
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace windrow::chat::harmony {

inline constexpr std::string_view kChannel = "<|channel|>";
inline constexpr std::string_view kMessage = "<|message|>";
inline constexpr std::string_view kStart = "<|start|>";
inline constexpr std::string_view kConstrain = "<|constrain|>";
inline constexpr std::string_view kCall = "<|call|>";

// Where a message ends; the next begins with <|start|>ROLE.
inline constexpr std::array<std::string_view, 4> kMessageEnds = {"<|end|>", "<|return|>", kCall,
                                                                 kStart};

// A call in the content: kCallOpen NAME kCallMiddle arguments kCall; without kCall if the message
// has not ended.
inline constexpr std::string_view kCallOpen = "<|channel|>commentary to=functions.";
inline constexpr std::string_view kCallMiddle = " <|constrain|>json<|message|>";

// The kind of a message by its header: the text before <|message|>.
bool is_call(std::string_view header);
bool is_reasoning(std::string_view header);

// The tool of the request that a header calls; empty if it calls none.
std::string_view called_function(std::string_view header);

// The content in front of the text of a message with this header; empty if it is no call.
std::string content_header(std::string_view header);

// `text` without the mark that ended a message, if it begins with one other than <|start|>.
std::string_view without_end(std::string_view text);

}  // namespace windrow::chat::harmony
