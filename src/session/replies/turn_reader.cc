#include "session/replies/turn_reader.h"

#include <utility>

#include "base/ensure.h"
#include "session/replies/reply_reader.h"

namespace windrow::session {

std::unique_ptr<TurnReader> make_turn_reader(ServerApi api, TurnReaderOptions options) {
  switch (api) {
    case ServerApi::kSglangChat:
      ENSURE(!options.streamed, "chats of SGLang with meta_info are never streamed");
      return make_sglang_chat_reader(std::move(options));
    case ServerApi::kSglangGenerate:
      return make_sglang_generate_reader(std::move(options));
    case ServerApi::kVllmCompletions:
      return make_vllm_completion_reader(std::move(options));
  }
  return nullptr;
}

}  // namespace windrow::session
