#include "llm/tool_call.h"

#include <utility>

namespace windrow::llm {

void join(std::vector<ToolCallPiece>& pieces, std::vector<ToolCallPiece> more) {
  for (ToolCallPiece& piece : more) {
    if (pieces.empty() || pieces.back().index != piece.index) {
      pieces.push_back(std::move(piece));
    } else {
      pieces.back().arguments += piece.arguments;
    }
  }
}

}  // namespace windrow::llm
