#include "engine/generation_backend.h"

#include <algorithm>
#include <utility>

#include "engine/fan_out.h"

namespace windrow::engine {

GenerationBackend::GenerationBackend(std::unique_ptr<ModelRunner> runner,
                                     const Vocabulary& vocabulary,
                                     Result<chat::ChatTemplate> chat_template, const Clock& clock,
                                     const GenerationOptions& options)
    : vocabulary_(vocabulary),
      clock_(clock),
      options_(options),
      prompt_maker_(
          vocabulary, std::move(chat_template),
          {.row_tokens_max = runner->limits().row_tokens_max, .now_unix_s = clock.unix_seconds()}),
      engine_(std::move(runner), vocabulary, clock, options.step_target, options.sampling_threads) {
}

int32_t GenerationBackend::output_tokens_max(const llm::Request& request,
                                             size_t prompt_tokens) const {
  const int32_t context_left = limits().row_tokens_max - static_cast<int32_t>(prompt_tokens);
  return std::min(request.output_tokens_max.value_or(options_.output_tokens_default), context_left);
}

void GenerationBackend::submit(llm::Request request, Done done) {
  std::variant<Prompts, llm::Failure> made = prompts(request);
  if (auto* failure = std::get_if<llm::Failure>(&made)) {
    done(std::move(*failure));
    return;
  }
  engine_.submit(fan_out(std::move(request), std::get<Prompts>(std::move(made)).tokens, vocabulary_,
                         {.row_tokens_max = limits().row_tokens_max,
                          .output_tokens_default = options_.output_tokens_default},
                         clock_.now(), std::move(done)));
}

// Twice the rows that can run: while one half decodes, the other is ready to take a place the
// moment it is free.
int32_t GenerationBackend::in_flight_target() const {
  return 2 * limits().sequences_max;
}

}  // namespace windrow::engine
