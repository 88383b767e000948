#include "llm/answer.h"

namespace windrow::llm {

std::string_view to_string(FinishReason reason) {
  return reason == FinishReason::kStop ? "stop" : "length";
}

}  // namespace windrow::llm
