#include "engine/host/model_runner.h"

namespace windrow::engine {

std::string_view to_string(Sharing sharing) {
  switch (sharing) {
    case Sharing::kAnyRange:
      return "any range";
    case Sharing::kExactEnd:
      return "exact end only";
    case Sharing::kNothing:
      return "nothing";
  }
  return "unknown";
}

}  // namespace windrow::engine
