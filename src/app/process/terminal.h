// The few things asked of a terminal or pipe.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace windrow::app {

bool is_terminal(int fd);

// Columns; 80 when the terminal does not say.
size_t terminal_width(int fd);

// All of `text`, however many calls it takes. False when the other end is gone or the disk is full.
bool write_all(int fd, std::string_view text);

// `text` without the power to move a cursor or to change colours: control characters other than
// line ends and tabs become "\x1b" and the like. Names and ids come from strangers.
std::string printable(std::string_view text);

}  // namespace windrow::app
