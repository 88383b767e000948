// Terminals and pipes: what they are, and writing to them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace windrow::app {

bool is_terminal(int fd);

// Columns; 80 when they are unknown.
size_t terminal_width(int fd);

// Writes all of `text`; blocks. False when the reader is gone or the disk is full.
bool write_all(int fd, std::string_view text);

// Replaces control characters other than line ends and tabs by "\x1b" and the like, so that `text`
// cannot move a cursor or change colours: names and ids come from outside.
std::string printable(std::string_view text);

}  // namespace windrow::app
