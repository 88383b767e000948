// TurnReader: reads the reply of one kind of server to a turn while it arrives. The kinds are
//
//   kSglangChat        /v1/chat/completions with input_ids and return_meta_info
//   kSglangGenerate    /generate, whole or streamed
//   kVllmCompletions   /v1/completions with token ids in and out, whole or streamed
//
// Used by one thread at a time; pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <variant>

#include "llm/answer.h"
#include "session/replies/turn_reply.h"

namespace windrow::session {

enum class ServerApi : uint8_t { kSglangChat, kSglangGenerate, kVllmCompletions };

struct TurnReaderOptions {
  bool streamed = false;     // the reply is events; never for kSglangChat
  size_t prompt_tokens = 0;  // that were sent
  WantedRows rows[kRowKinds];

  // Streamed: called with tokens as they come, in order. May be empty.
  std::function<void(std::span<const int32_t> tokens)> on_tokens;
};

class TurnReader {
 public:
  virtual ~TurnReader() = default;

  // The next bytes of a reply with status 200. False: it cannot be used; take() needs no more, and
  // end() says why.
  virtual bool take(std::string_view bytes) = 0;

  // The reply is complete. A Failure, always 502 `unusable_reply` and kTransient, says what was
  // wrong with it: not JSON, no tokens, tokens and log-probabilities of different number, rows that
  // do not belong to the tokens, a message that is null, a stream without an end. Once.
  virtual std::variant<TurnReply, llm::Failure> end() = 0;
};

std::unique_ptr<TurnReader> make_turn_reader(ServerApi api, TurnReaderOptions options);

}  // namespace windrow::session
