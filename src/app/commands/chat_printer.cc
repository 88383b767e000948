#include "app/commands/chat_printer.h"

#include <utility>

#include "app/process/console.h"

namespace windrow::app {

void AnswerPrinter::show(const ChatPiece& piece) {
  if (how_.terminal && !piece.reasoning.empty()) {
    if (!std::exchange(reasons_, true)) write_(how_.colour ? "\x1b[2m" : "(reasoning) ");
    write_(printable(piece.reasoning));
  }
  if (piece.text.empty()) return;
  end_reasoning();
  text_ += piece.text;
  write_(how_.terminal ? printable(piece.text) : piece.text);
}

std::string AnswerPrinter::end(bool stopped) {
  end_reasoning();
  if (stopped && how_.terminal) write_(" (stopped)");
  write_("\n");
  return std::move(text_);
}

void AnswerPrinter::end_reasoning() {
  if (!std::exchange(reasons_, false)) return;
  write_(how_.colour ? "\x1b[0m\n\n" : "\n(answer) ");
}

}  // namespace windrow::app
