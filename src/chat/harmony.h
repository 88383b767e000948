// Harmony, the format of GPT-OSS: one message after the other,
//
//   [<|start|>ROLE] [<|channel|>NAME] <|message|>TEXT end
//
// What is on the analysis channel is thought; everything else is said. A message to somebody,
// " to=NAME" in its header, calls a tool; its header says which, so it is said too. Models write
// the header of a call of a request's tool in several ways; here it is always said in one. Pure.
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

// How a call of a tool NAME of a request is said: kCallOpen NAME kCallMiddle arguments kCall, the
// last only when the message has ended.
inline constexpr std::string_view kCallOpen = "<|channel|>commentary to=functions.";
inline constexpr std::string_view kCallMiddle = " <|constrain|>json<|message|>";

// Of a header: what stands before <|message|>.
bool calls(std::string_view header);
bool is_thought(std::string_view header);

// The tool of the request that a header calls; empty: none.
std::string_view called_function(std::string_view header);

// What is said in front of a message with this header; nothing but for calls.
std::string said_header(std::string_view header);

// `text` begins with what ended a message, if it is not <|start|>: without it.
std::string_view without_end(std::string_view text);

}  // namespace windrow::chat::harmony
