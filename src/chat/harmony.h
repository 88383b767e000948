// Harmony, the format of GPT-OSS: one message after the other,
//
//   [<|start|>ROLE] [<|channel|>NAME] <|message|>TEXT end
//
// What is on the analysis channel is thought; everything else is said. A message to somebody,
// " to=NAME" in its header, calls a tool; its header says which, so it is said too. Pure.
#pragma once

#include <array>
#include <string_view>

namespace windrow::chat::harmony {

inline constexpr std::string_view kChannel = "<|channel|>";
inline constexpr std::string_view kMessage = "<|message|>";
inline constexpr std::string_view kStart = "<|start|>";
inline constexpr std::string_view kConstrain = "<|constrain|>";

// Where a message ends; the next begins with <|start|>ROLE.
inline constexpr std::array<std::string_view, 4> kMessageEnds = {"<|end|>", "<|return|>",
                                                                 "<|call|>", kStart};

// Of a header: what stands before <|message|>.
bool calls(std::string_view header);
bool is_thought(std::string_view header);

// `text` begins with what ended a message, if it is not <|start|>: without it.
std::string_view without_end(std::string_view text);

}  // namespace windrow::chat::harmony
