#include "program/run/model_calls.h"

#include <exception>
#include <utility>

#include "program/run/call_values.h"

namespace windrow::program {
namespace {

namespace json = boost::json;

// Of texts that are tokenised elsewhere, about.
constexpr int64_t kBytesPerToken = 4;

// The tokens of a prompt; those of a server's model as far as they can be told.
int64_t tokens_of(const Prompt& prompt) {
  if (!prompt.tokens.empty()) return static_cast<int64_t>(prompt.tokens.size());
  size_t bytes = prompt.text.size();
  for (const json::value& message : prompt.chat.messages) {
    if (const json::value* content = message.as_object().if_contains("content");
        content != nullptr && content->is_string())
      bytes += content->get_string().size();
  }
  return static_cast<int64_t>(bytes) / kBytesPerToken;
}

}  // namespace

CallOwner ModelCalls::owner_of(uint64_t call) {
  return {.key = start_.key,
          .priority = start_.priority,
          .part = id_.value(),
          .group = id_.value(),
          .trace_tag = calls_.at(call).tag};
}

template <class Reply>
CallDone<Reply> ModelCalls::done_of(uint64_t call) const {
  return [post = environment_.post, id = id_, call](CallOutcome<Reply> outcome) {
    std::visit([&](auto& ended) { post(id, CallEnded{.call = call, .outcome = std::move(ended)}); },
               outcome);
  };
}

// Asks the models for a call that has begun. Where that throws, no Done comes: the call ends here.
void ModelCalls::ask(uint64_t number, const std::function<void()>& asking) {
  try {
    asking();
  } catch (const std::exception& error) {
    environment_.post(id_, CallEnded{.call = number, .outcome = internal_failure(error)});
  }
}

void ModelCalls::ask_to_generate(const HeldContext& held, uint64_t number, Prompt prompt,
                                 GenerateOptions options) {
  ask(number, [&] {
    environment_.models.generate(held.context.shared_model(), std::move(prompt), std::move(options),
                                 owner_of(number), calls_.at(number).stop.get_token(),
                                 done_of<GenerateReply>(number));
  });
}

ModelCalls::Begun ModelCalls::generate(const Caller& caller, ContextId context,
                                       GenerateOptions options, std::optional<uint64_t> seed) {
  HeldContext& held = *contexts_.find(context);
  auto made = held.context.prompt(options.thinking);
  if (auto* fault = std::get_if<llm::Failure>(&made)) return std::move(*fault);
  auto& prompt = std::get<Prompt>(made);
  if (!options.output_tokens_max)
    options.output_tokens_max = environment_.options.output_tokens_default;
  const bool has_schema =
      options.structured && options.structured->kind == llm::StructureSpec::Kind::kJsonSchema;
  const auto begun = calls_.begin({.task = caller.task,
                                   .context = context,
                                   .prompt = prompt,
                                   .has_schema = has_schema,
                                   .stage = caller.stage},
                                  tokens_of(prompt) + *options.output_tokens_max);
  if (const auto* fault = std::get_if<llm::Failure>(&begun)) return *fault;
  options.seed = seed ? *seed : held.seeds.next();
  const auto number = std::get<uint64_t>(begun);
  ask_to_generate(held, number, std::move(prompt), std::move(options));
  return number;
}

ModelCalls::Begun ModelCalls::score(const Caller& caller, ContextId context,
                                    std::vector<std::string> texts) {
  return begin_scoring(caller, context, TraceKind::kScore, std::move(texts));
}

ModelCalls::Begun ModelCalls::select(const Caller& caller, ContextId context,
                                     std::vector<std::string> choices) {
  HeldContext& held = *contexts_.find(context);
  if (held.context.model().tokenizer != nullptr)
    return begin_scoring(caller, context, TraceKind::kSelect, std::move(choices));
  // A server elsewhere chooses by a structured answer. Not every server knows an argument about
  // thoughts: it is sent where the context has one.
  const bool has_thinking = held.context.options().thinking.has_value();
  auto made = held.context.prompt(has_thinking ? std::optional(false) : std::nullopt);
  if (auto* fault = std::get_if<llm::Failure>(&made)) return std::move(*fault);
  auto& prompt = std::get<Prompt>(made);
  GenerateOptions options = select_options(choices);
  const auto begun = calls_.begin({.kind = TraceKind::kSelect,
                                   .task = caller.task,
                                   .context = context,
                                   .prompt = prompt,
                                   .texts = std::move(choices),
                                   .stage = caller.stage},
                                  *options.output_tokens_max);
  if (const auto* fault = std::get_if<llm::Failure>(&begun)) return *fault;
  const auto number = std::get<uint64_t>(begun);
  ask_to_generate(held, number, std::move(prompt), std::move(options));
  return number;
}

ModelCalls::Begun ModelCalls::begin_scoring(const Caller& caller, ContextId context, TraceKind kind,
                                            std::vector<std::string> texts) {
  HeldContext& held = *contexts_.find(context);
  const std::shared_ptr<const ContextModel> model = held.context.shared_model();
  auto made = held.context.prompt(kind == TraceKind::kSelect ? std::optional(false) : std::nullopt);
  if (auto* fault = std::get_if<llm::Failure>(&made)) return std::move(*fault);
  auto& prompt = std::get<Prompt>(made);
  int64_t tokens = tokens_of(prompt);
  std::vector<std::vector<int32_t>> continuations;
  for (const std::string& text : texts) {
    if (text.empty())
      return program_failure(kProgramError, "score and select: a text must not be empty");
    if (model->tokenizer == nullptr) break;  // the models say that they cannot score
    continuations.push_back(model->tokenizer->encode(text, false, llm::SpecialTokens::kNone));
    tokens += static_cast<int64_t>(continuations.back().size());
  }
  const auto begun = calls_.begin({.kind = kind,
                                   .task = caller.task,
                                   .context = context,
                                   .texts = std::move(texts),
                                   .stage = caller.stage},
                                  tokens);
  if (const auto* fault = std::get_if<llm::Failure>(&begun)) return *fault;
  const auto number = std::get<uint64_t>(begun);
  ask(number, [&] {
    environment_.models.score(model, std::move(prompt), std::move(continuations), owner_of(number),
                              calls_.at(number).stop.get_token(), done_of<ScoreReply>(number));
  });
  return number;
}

ModelCalls::Begun ModelCalls::embed(const Caller& caller, std::string_view model,
                                    std::vector<std::string> texts, bool is_single) {
  int64_t bytes = 0;
  for (const std::string& text : texts)
    bytes += static_cast<int64_t>(text.size());
  const auto begun = calls_.begin({.kind = TraceKind::kEmbed,
                                   .task = caller.task,
                                   .is_single = is_single,
                                   .stage = caller.stage},
                                  bytes / kBytesPerToken);
  if (const auto* fault = std::get_if<llm::Failure>(&begun)) return *fault;
  const auto number = std::get<uint64_t>(begun);
  ask(number, [&] {
    environment_.models.embed(model, std::move(texts), owner_of(number),
                              calls_.at(number).stop.get_token(), done_of<EmbedReply>(number));
  });
  return number;
}

}  // namespace windrow::program
