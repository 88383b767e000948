#include "session/models/session_models.h"

#include "base/ensure.h"

namespace windrow::session {

std::string_view to_string(ModelKind kind) {
  switch (kind) {
    case ModelKind::kEmbedded:
      return "embedded";
    case ModelKind::kSglangChat:
      return "sglang-chat";
    case ModelKind::kSglangGenerate:
      return "sglang";
    case ModelKind::kVllmCompletions:
      return "vllm";
  }
  ENSURE(false, "a kind of model");
}

}  // namespace windrow::session
