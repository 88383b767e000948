#include "engine/generate/generation_backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <future>
#include <utility>

#include "base/format.h"
#include "engine/host/row_failures.h"

namespace windrow::engine {
namespace {

// Of one row, about 400 MB each.
constexpr int64_t kLogprobsMax = 8'000'000;
constexpr int64_t kBiasesMax = 50'000'000;

// Its errors begin with the place of what is at fault.
bool has_calls(const llm::StructureSpec& spec) {
  return spec.kind == llm::StructureSpec::Kind::kToolCalls || !spec.tools.empty();
}

struct PromptsAhead final : llm::ReadAhead {
  PromptsAhead(const GenerationBackend* maker, std::variant<Prompts, llm::Failure> what)
      : by(maker), made(std::move(what)) {}

  const GenerationBackend* by;
  const std::variant<Prompts, llm::Failure> made;
};

// An answer, and what of its schemas has no effect.
llm::Backend::Done with_warnings(std::vector<std::string> warnings, llm::Backend::Done done) {
  return [warnings = std::move(warnings), done = std::move(done)](llm::Outcome outcome) {
    if (auto* answer = std::get_if<llm::Answer>(&outcome)) answer->structure_warnings = warnings;
    done(std::move(outcome));
  };
}

}  // namespace

GenerationBackend::GenerationBackend(std::unique_ptr<ModelRunner> runner,
                                     const Vocabulary& vocabulary,
                                     Result<chat::ChatTemplate> chat_template, const Clock& clock,
                                     const GenerationOptions& options,
                                     std::shared_ptr<DeviceThread> thread)
    : vocabulary_(vocabulary),
      clock_(clock),
      options_(options),
      tokenizer_(vocabulary, std::move(chat_template),
                 options.date_unix_s.value_or(clock.unix_seconds()),
                 runner->limits().row_tokens_trained),
      prompt_maker_(tokenizer_, {.row_tokens_max = runner->limits().row_tokens_max,
                                 .row_tokens_trained = runner->limits().row_tokens_trained}),
      pending_(cancelled()),
      engine_(std::move(runner), vocabulary, clock,
              {.step_target = options.step_target,
               .lone_step_target = options.lone_step_target,
               .sampling_threads = options.sampling_threads,
               .reserve = options.reserve,
               .mask_filling = options.mask_filling,
               .on_step = options.on_step,
               .on_rows = options.on_rows},
              std::move(thread), options.start),
      structures_(
          [this](const llm::StructureSpec& spec, const grammar::GiveUp& give_up) {
            return make_structure_for(spec, give_up);
          },
          clock, options.structure_limits) {}

GenerationBackend::~GenerationBackend() {
  for (llm::PendingRequests::Taken& taken : pending_.take_all())
    std::move(taken).end(cancelled());
}

int32_t GenerationBackend::output_tokens_max(const llm::Request& request,
                                             size_t prompt_tokens) const {
  const int32_t context_left = limits().row_tokens_max - static_cast<int32_t>(prompt_tokens);
  return std::min(request.output_tokens_max.value_or(options_.output_tokens_default), context_left);
}

std::variant<Prompts, llm::Failure> GenerationBackend::prompts(const llm::Request& request) const {
  std::variant<Prompts, llm::Failure> made = prompt_maker_.make(request);
  if (const auto* prompts = std::get_if<Prompts>(&made)) {
    if (std::optional<llm::Failure> failure = too_much(request, *prompts))
      return *std::move(failure);
    if (std::optional<llm::Failure> failure = no_call_possible(request)) return *std::move(failure);
  }
  return made;
}

// One row may ask for more than the machine has memory for: what it costs grows with prompts times
// choices.
std::optional<llm::Failure> GenerationBackend::too_much(const llm::Request& request,
                                                        const Prompts& prompts) const {
  const auto choices = static_cast<int64_t>(request.choices);
  const auto rows = static_cast<int64_t>(prompts.tokens.size()) * choices;
  const auto biases = static_cast<int64_t>(request.sampling.logit_bias.size());
  const auto refused = [](std::string param, std::string message) {
    return llm::Failure{
        .code = "invalid_value", .message = std::move(message), .param = std::move(param)};
  };
  if (rows * biases > kBiasesMax) {
    return refused(
        "logit_bias",
        fmt::format("logit_bias has {} tokens for each of {} answers; together they may "
                    "have {}: ask for fewer answers at once, or shorten the list",
                    with_thousands(biases), with_thousands(rows), with_thousands(kBiasesMax)));
  }
  int64_t scored = 0;
  for (const std::vector<Token>& prompt : prompts.tokens) {
    const auto prompt_tokens =
        std::max<int64_t>(0, std::ssize(prompt) - int64_t{request.score_from});
    const int64_t answer_tokens = output_tokens_max(request, prompt.size());
    if (request.logprobs_top)
      scored += (answer_tokens + (request.echo ? prompt_tokens : 0)) * (1 + *request.logprobs_top);
    if (request.prompt_logprobs_top) scored += prompt_tokens * (1 + *request.prompt_logprobs_top);
  }
  scored *= choices;
  if (scored <= kLogprobsMax) return std::nullopt;
  return refused(request.logprobs_top ? "logprobs" : "prompt_logprobs",
                 fmt::format("this request may become {} log-probabilities; one may have {}: ask "
                             "for fewer answers, a smaller max_tokens or fewer logprobs at once",
                             with_thousands(scored), with_thousands(kLogprobsMax)));
}

// A call is wanted and this model's cannot be enforced.
std::optional<llm::Failure> GenerationBackend::no_call_possible(const llm::Request& request) const {
  const llm::Chat& chat = request.chat;
  if (chat.tools.empty() || !llm::has_to_call(chat.tool_choice)) return std::nullopt;
  const std::optional<std::string> why = engine::not_enforceable(*prompt_maker_.tool_syntax());
  if (!why) return std::nullopt;
  return llm::Failure{
      .code = "unsupported_by_model",
      .message = fmt::format("tool_choice wants a call, and {}, so none can be enforced; with "
                             "\"auto\" the model may call",
                             *why),
      .param = "tool_choice"};
}

// The engine's thread has other things to do.
llm::Backend::Done GenerationBackend::check_structure(std::shared_ptr<const Structure> structure,
                                                      std::stop_token unwanted, Done done) {
  return [this, structure = std::move(structure), unwanted = std::move(unwanted),
          done = std::move(done)](llm::Outcome outcome) {
    if (!std::holds_alternative<llm::Answer>(outcome)) {
      done(std::move(outcome));
      return;
    }
    checks_.post(
        [structure, unwanted, done,
         answer = std::make_shared<llm::Answer>(std::get<llm::Answer>(std::move(outcome)))] {
          const llm::Usage usage = answer->usage;
          llm::Outcome judgement = cancelled();
          if (!unwanted.stop_requested()) {
            judgement = structure->check ? judged(*structure->check, std::move(*answer))
                                         : llm::Outcome(std::move(*answer));
            auto* made = std::get_if<llm::Answer>(&judgement);
            if (structure->calls && made != nullptr) {
              judgement = judged_calls(*structure->calls, std::move(*made),
                                       /*has_to_call=*/structure->check == nullptr);
            }
          }
          if (unwanted.stop_requested()) judgement = cancelled();
          if (auto* failure = std::get_if<llm::Failure>(&judgement)) failure->usage = usage;
          done(std::move(judgement));
        });
  };
}

// On a thread of the cache.
StructureCache::Made GenerationBackend::make_structure_for(const llm::StructureSpec& spec,
                                                           const grammar::GiveUp& give_up) {
  if (has_calls(spec)) return make_calls_for(spec, give_up);
  std::call_once(tables_made_, [this] {
    const chat::ReasoningFormat* reasoning = prompt_maker_.reasoning();
    tables_ = make_tables(vocabulary_, reasoning ? *reasoning : chat::ReasoningFormat(),
                          tokenizer_.reading_rules().shown());
  });
  return make_structure(spec, tables_, give_up);
}

StructureCache::Made GenerationBackend::make_calls_for(const llm::StructureSpec& spec,
                                                       const grammar::GiveUp& give_up) {
  std::call_once(call_tables_made_, [this] {
    call_tables_ =
        make_call_tables(vocabulary_, *prompt_maker_.reasoning(), *prompt_maker_.tool_syntax(),
                         tokenizer_.reading_rules().shown_beside_tools());
  });
  return make_call_structure(spec, call_tables_, give_up);
}

// What its answers have to be: the structure that it asks for, or calls of tools.
std::optional<llm::StructureSpec> GenerationBackend::structure_of(
    const llm::Request& request) const {
  const llm::UnknownWords unknown = request.schema_unknown.value_or(options_.schema_unknown);
  const llm::Chat& chat = request.chat;
  const chat::ToolSyntax* syntax = prompt_maker_.tool_syntax();
  const bool known = syntax != nullptr && !engine::not_enforceable(*syntax);
  if (request.structured) {
    llm::StructureSpec spec = *request.structured;
    spec.unknown = unknown;
    if (chat.tools.empty() || !known) return spec;
    spec.tools = boost::json::serialize(chat.tools);
    spec.tool_choice = chat.tool_choice;
    return spec;
  }
  if (chat.tools.empty()) return std::nullopt;
  // One that need not call can be anything, up to where it does.
  const bool seen = known && !syntax->mark.empty();
  if (!llm::has_to_call(chat.tool_choice) && (!seen || request.ignore_eos)) return std::nullopt;
  return llm::StructureSpec{.kind = llm::StructureSpec::Kind::kToolCalls,
                            .text = boost::json::serialize(chat.tools),
                            .unknown = unknown,
                            .tool_choice = chat.tool_choice,
                            .param = "tools"};
}

std::shared_ptr<const llm::ReadAhead> GenerationBackend::read_ahead(const llm::Request& request) {
  return std::make_shared<const PromptsAhead>(this, prompts(request));
}

std::variant<int64_t, llm::Failure> GenerationBackend::count_prompt(const llm::Request& request) {
  return prompt_maker_.count(request);
}

void GenerationBackend::submit(llm::BackendCall call, Done done) {
  if (call.is_cancelled()) {
    done(cancelled());
    return;
  }
  auto ahead = std::dynamic_pointer_cast<const PromptsAhead>(call.read_ahead);
  if (ahead == nullptr || ahead->by != this)
    ahead = std::make_shared<const PromptsAhead>(this, prompts(*call.request));
  if (const auto* failure = std::get_if<llm::Failure>(&ahead->made)) {
    done(*failure);
    return;
  }
  const TimePoint submitted_at = clock_.now();
  std::optional<llm::StructureSpec> structure = structure_of(*call.request);
  if (!structure) {
    run({.call = std::move(call),
         .prompts = std::get<Prompts>(ahead->made),
         .submitted_at = submitted_at,
         .done = std::move(done)},
        nullptr);
    return;
  }
  call.read_ahead = ahead;  // the prompts wait with the call
  const auto spec = std::make_shared<const llm::StructureSpec>(*std::move(structure));
  const llm::PendingId id = pending_.add(std::move(call), std::move(done));
  pending_.watch(id);
  structures_.get(*spec, [this, id, spec, submitted_at](const StructureCache::Made& made) {
    structure_made(id, *spec, submitted_at, made);
  });
}

// Structures are shared by requests that ask for the same in other fields, so their errors name
// tools at most.
llm::Failure GenerationBackend::not_enforceable(const llm::StructureSpec& spec,
                                                const Error& error) {
  if (std::optional<std::string> tool = tool_at_fault(error.message))
    return {.code = "invalid_value", .message = error.message, .param = *std::move(tool)};
  return {.code = "invalid_value",
          .message = fmt::format("{}: {}", spec.param, error.message),
          .param = spec.param};
}

std::optional<llm::Failure> GenerationBackend::structure_fault(const llm::Request& request) {
  const std::optional<llm::StructureSpec> spec = structure_of(request);
  if (!spec) return std::nullopt;
  std::promise<std::optional<Error>> error;
  structures_.get(*spec, [&](const StructureCache::Made& made) {
    error.set_value(made ? std::nullopt : std::optional(made.error()));
  });
  const std::optional<Error> found = error.get_future().get();
  if (!found || may_go_unenforced(*spec)) return std::nullopt;
  return not_enforceable(*spec, *found);
}

// The call goes to the engine, unless it was cancelled meanwhile.
void GenerationBackend::structure_made(llm::PendingId id, const llm::StructureSpec& spec,
                                       TimePoint submitted_at, const StructureCache::Made& made) {
  std::optional<llm::PendingRequests::Taken> taken = pending_.take(id);
  if (!taken) return;
  auto [call, done] = std::move(*taken).release();
  const auto& ahead = dynamic_cast<const PromptsAhead&>(*call.read_ahead);
  Prepared prepared{.call = std::move(call),
                    .prompts = std::get<Prompts>(ahead.made),
                    .submitted_at = submitted_at,
                    .done = std::move(done)};
  if (!made && may_go_unenforced(spec)) {
    const llm::Failure why = not_enforceable(spec, made.error());
    std::vector<std::string> warnings;
    add_warning(warnings, "calls are not enforced: " + why.message);
    prepared.done = with_warnings(std::move(warnings), std::move(prepared.done));
    run(std::move(prepared), nullptr);
    return;
  }
  if (!made) {
    prepared.done(not_enforceable(spec, made.error()));
    return;
  }
  const bool chat = prepared.call.request->endpoint == llm::Endpoint::kChatCompletions;
  const Structure& structure = **made;
  const chat::ReasoningFormat* reasoning = prompt_maker_.reasoning();
  auto form = std::make_shared<AnswerForm>(
      AnswerForm{.grammar = structure.grammar, .escapes = structure.escapes});
  if (chat && reasoning != nullptr) {
    form->reasoning_masks = structure.reasoning_masks;
    form->reasoning = *reasoning;
    form->prompt_end = prepared.prompts.chat_end;
  }
  if (chat) form->thought_tokens_max = reasoning_tokens_max(prepared);
  if (has_calls(spec)) {
    const chat::ToolSyntax& syntax = call_tables_.format.syntax;
    form->call_triggers = structure.call_triggers;
    form->said_before = said_before_calls(syntax);
    if (!form->call_triggers) form->reasoning = call_tables_.reasoning;
  }
  if (!structure.warnings.empty())
    prepared.done = with_warnings(structure.warnings, std::move(prepared.done));
  if (structure.check || structure.calls)
    prepared.done = check_structure(*made, prepared.call.unwanted, std::move(prepared.done));
  run(std::move(prepared), std::move(form));
}

// A model that thinks up to its limit never calls, so the thoughts before a call that has to come
// are bounded in any case.
std::optional<int32_t> GenerationBackend::reasoning_tokens_max(const Prepared& prepared) const {
  const llm::Request& request = *prepared.call.request;
  if (request.reasoning_tokens_max) return request.reasoning_tokens_max;
  if (request.structured || !llm::has_to_call(request.chat.tool_choice)) return std::nullopt;
  const int64_t longest = output_tokens_max(request, prepared.prompts.tokens.front().size());
  return static_cast<int32_t>(longest * options_.call_reasoning_percent / 100);
}

void GenerationBackend::run(Prepared prepared, std::shared_ptr<const AnswerForm> form) {
  const llm::Request& request = *prepared.call.request;
  FanOutLimits limits{.row_tokens_max = this->limits().row_tokens_max,
                      .output_tokens_default = options_.output_tokens_default,
                      .keep = options_.keep,
                      .form = std::move(form),
                      .reading = {}};
  if (request.endpoint == llm::Endpoint::kChatCompletions) {
    limits.reading = tokenizer_.reading_rules().reading_of(
        request.chat, std::move(prepared.prompts.chat_end), request.structured.has_value());
  }
  engine_.submit(fan_out(prepared.call, std::move(prepared.prompts.tokens), vocabulary_, limits,
                         prepared.submitted_at, std::move(prepared.done)));
}

llm::BackendStats GenerationBackend::stats() const {
  llm::BackendStats stats = engine_.stats();
  stats.rows_waiting += static_cast<int32_t>(pending_.size());
  return stats;
}

// Twice the rows that can run: while one half decodes, the other is ready to take a place the
// moment it is free.
int32_t GenerationBackend::in_flight_target() const {
  return 2 * limits().rows_max;
}

}  // namespace windrow::engine
