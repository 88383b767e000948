#include "fleet/tokenizer_watch.h"

#include <fmt/format.h>

#include <optional>
#include <utility>
#include <variant>

#include "fleet/tokenizer_check.h"
#include "llm/told_prompt.h"

namespace windrow::fleet {

void TokenizerWatch::add(const std::string& name, std::string path,
                         std::shared_ptr<llm::LazyTokenizer> tokenizer) {
  const auto [added, is_new] = watched_.try_emplace(name);
  added->second.path = std::move(path);
  added->second.tokenizer = std::move(tokenizer);
  if (is_new) ++unknown_;
}

bool TokenizerWatch::wants(const llm::Request& request) const {
  if (unknown_.load(std::memory_order_relaxed) == 0) return false;
  const auto found = watched_.find(request.model);
  return found != watched_.end() && !found->second.is_known && llm::may_tell_prompt(request);
}

void TokenizerWatch::see(const llm::Request& request, std::string_view reply) {
  const auto found = watched_.find(request.model);
  if (found == watched_.end() || found->second.is_known) return;
  auto& [name, watched] = *found;
  const std::optional<llm::ToldPrompt> told = llm::told_prompt(request, reply);
  if (!told) return;
  const auto tokenizer = watched.tokenizer->get();
  if (!tokenizer) return;
  const TokenizerVerdict verdict = check_tokenizer(**tokenizer, *told);
  if (verdict.match == TokenizerMatch::kUnknown || watched.is_known.exchange(true)) return;
  --unknown_;
  if (verdict.match == TokenizerMatch::kSame) return;
  // Clients do not learn where a file is.
  watched.tokenizer->refuse(
      fmt::format("the tokenizer that --tokenizer {0} names here is not the one of the server that "
                  "has {0}: {1}; the operator can name the file of the server's model with "
                  "--tokenizer {0}=model.gguf",
                  name, verdict.difference));
  events_.warn(
      fmt::format("--tokenizer {0}={1}: this tokenizer is not the one of the server that has {0}: "
                  "{2}. /tokenize, /detokenize and /apply-template refuse {0} from now on; name "
                  "the file of the server's model",
                  name, watched.path, verdict.difference));
}

void WatchedBackend::submit(llm::BackendCall call, Done done) {
  if (!watch_.wants(*call.request)) return inner_.submit(std::move(call), std::move(done));
  // Before the call is moved: arguments are evaluated in any order.
  Done seen = [this, request = call.request, done = std::move(done)](llm::Outcome outcome) {
    if (const auto* answer = std::get_if<llm::Answer>(&outcome)) watch_.see(*request, answer->raw);
    done(std::move(outcome));
  };
  inner_.submit(std::move(call), std::move(seen));
}

}  // namespace windrow::fleet
