// AnswerPrinter: shows one answer of `windrow chat` while it arrives, its reasoning apart from the
// text. Pure but for `write`.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "app/commands/chat_model.h"

namespace windrow::app {

// Used by one thread.
class AnswerPrinter {
 public:
  using Write = std::function<void(std::string_view)>;

  struct How {
    bool terminal = false;  // else the text alone, unchanged: of use for other programs
    bool colour = false;    // reasoning is dimmed, else marked by words
  };

  AnswerPrinter(How how, Write write) : how_(how), write_(std::move(write)) {}

  void show(const ChatPiece& piece);

  // After the last piece; `stopped`: there would have been more. Returns the text of the answer.
  std::string end(bool stopped);

 private:
  void end_reasoning();

  const How how_;
  const Write write_;
  bool reasons_ = false;
  std::string text_;
};

}  // namespace windrow::app
