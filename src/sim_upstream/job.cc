#include "sim_upstream/job.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "sim_upstream/answer_text.h"

namespace windrow::sim_upstream {
namespace {

// What Ollama reads of a prompt: of one that is too long the first few tokens and the end, so that
// half of the context stays free; of a text to embed as much as there is room for.
int64_t ollama_tokens(int64_t context, int64_t tokens, Endpoint endpoint) {
  constexpr int64_t kKeep = 4;
  if (endpoint == Endpoint::kEmbeddings) return std::min(tokens, context);
  if (tokens < context) return tokens;
  return context - std::max<int64_t>((context - std::min(kKeep, context - 1)) / 2, 1);
}

int64_t tokens_read(const SimOptions& options, const Prompt& prompt, Endpoint endpoint) {
  if (!options.ollama) return prompt.tokens;
  return ollama_tokens(options.context_tokens, prompt.tokens, endpoint);
}

std::vector<Choice> choices_of(const SimOptions& options, const Job& job) {
  std::vector<Choice> choices;
  const auto per_prompt = static_cast<size_t>(job.call.choices);
  for (size_t i = 0; i < job.answer_tokens.size(); ++i) {
    std::string text = answer_text(options, job.call, i / per_prompt,
                                   static_cast<int32_t>(i % per_prompt), job.answer_tokens[i]);
    if (job.breaks_schema()) text = in_another_shape(text);
    choices.push_back({.text = std::move(text), .cut = job.cut[i]});
  }
  return choices;
}

ReplyFacts with_usage(ReplyFacts facts, const Job& job) {
  facts.model = job.call.model;
  facts.usage = {.prompt_tokens = job.prompt_tokens,
                 .cached_tokens = job.cached_tokens,
                 .answer_tokens = std::accumulate(job.answer_tokens.begin(),
                                                  job.answer_tokens.end(), int64_t{0})};
  return facts;
}

}  // namespace

int64_t Job::tokens() const {
  return std::accumulate(answer_tokens.begin(), answer_tokens.end(), prompt_tokens);
}

int64_t Job::longest_answer() const {
  return answer_tokens.empty() ? 0 : *std::ranges::max_element(answer_tokens);
}

Duration Job::next_step(const SimOptions& options) const {
  return std::min(longest_answer() - tokens_made, options.event_tokens) * options.token_time;
}

bool Job::breaks_schema() const {
  return is_struck_by(FaultKind::kSchema) && call.wants_json;
}

Result<Job> make_job(const SimOptions& options, ModelCall call) {
  Job job;
  int64_t longest = 0;
  for (const Prompt& prompt : call.prompts) {
    const int64_t tokens = tokens_read(options, prompt, call.endpoint);
    job.prompt_tokens += tokens;
    longest = std::max(longest, tokens);
  }
  const bool generates = call.endpoint != Endpoint::kEmbeddings;
  const int64_t asked = generates ? call.answer_tokens_max.value_or(1) : 0;
  if (!options.ollama && longest + asked > options.context_tokens) {
    return Error{ErrorKind::kInvalid,
                 fmt::format("This model's maximum context length is {} tokens. However, you asked "
                             "for {} tokens ({} in the messages, {} in the answer)",
                             options.context_tokens, longest + asked, longest, asked)};
  }
  if (generates) {
    for (const Prompt& prompt : call.prompts) {
      const int64_t read = tokens_read(options, prompt, call.endpoint);
      const int64_t room = std::max<int64_t>(1, options.context_tokens - read);
      const int64_t limit = std::min(room, call.answer_tokens_max.value_or(room));
      for (int32_t choice = 0; choice < call.choices; ++choice) {
        const int64_t wanted = draw_answer_tokens(options, prompt.text, choice);
        job.answer_tokens.push_back(std::min(wanted, limit));
        job.cut.push_back(wanted > limit);
      }
    }
  }
  job.call = std::move(call);
  return job;
}

std::string reply_body(const SimOptions& options, const Job& job, ReplyFacts facts) {
  facts = with_usage(facts, job);
  if (job.call.endpoint == Endpoint::kEmbeddings) {
    std::vector<std::vector<float>> vectors;
    vectors.reserve(job.call.prompts.size());
    for (const Prompt& prompt : job.call.prompts) {
      vectors.push_back(
          embedding_of(prompt.text, job.call.dimensions.value_or(options.embedding_size)));
    }
    return embedding_body(facts, vectors, job.call.base64);
  }
  const std::vector<Choice> choices = choices_of(options, job);
  return job.call.endpoint == Endpoint::kChat ? chat_body(facts, choices)
                                              : completion_body(facts, choices);
}

StreamBody stream_body(const SimOptions& options, const Job& job, ReplyFacts facts) {
  return {job.call.endpoint, with_usage(facts, job), choices_of(options, job), job.answer_tokens,
          job.call.stream_usage};
}

}  // namespace windrow::sim_upstream
