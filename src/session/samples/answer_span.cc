#include "session/samples/answer_span.h"

#include <algorithm>

namespace windrow::session {

AnswerSpan answer_span(const TurnPath& path, size_t turn) {
  const size_t begin = path.tokens_before(turn);
  const size_t end = path.tokens_after(turn);
  if (turn + 1 == path.turns().size()) return {begin, end};
  const Turn& next = *path.turns()[turn + 1];
  size_t kept = std::clamp(next.kept_tokens, begin, end);
  const std::vector<int32_t>& sampled = path.turns()[turn]->sampled;
  for (const int32_t token : next.prompt) {
    if (kept == end || sampled[kept - begin] != token) break;
    ++kept;
  }
  return {begin, kept};
}

}  // namespace windrow::session
