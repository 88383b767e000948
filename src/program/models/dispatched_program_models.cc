#include "program/models/dispatched_program_models.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "dispatch/dispatcher.h"
#include "dispatch/work_item.h"
#include "llm/raw_body.h"
#include "program/models/generate_request.h"
#include "program/models/score_request.h"
#include "program/models/unusable_answer.h"
#include "program/models/upstream_body.h"

namespace windrow::program {

namespace json = boost::json;

namespace {

// The size of prompts of tokens, as request_item takes it.
size_t bytes_like(const llm::Request& request) {
  constexpr size_t kBytesPerToken = 4;
  size_t tokens = request.chat_tokens.size();
  for (const llm::Input& input : request.inputs)
    tokens += input.tokens.size();
  return tokens * kBytesPerToken;
}

// The vectors of an answer, scaled to length 1.
std::variant<EmbedReply, llm::Failure> read_vectors(llm::Answer answer, size_t texts) {
  if (!answer.raw.empty()) {
    std::optional<llm::Answer> read = llm::read_raw_embeddings(answer.raw);
    if (!read) return unusable_answer("the server's reply has no embeddings");
    answer.embeddings = std::move(read->embeddings);
  }
  if (answer.embeddings.size() != texts) {
    return unusable_answer(
        fmt::format("{} embeddings came back for {} texts", answer.embeddings.size(), texts));
  }
  for (std::vector<float>& vector : answer.embeddings) {
    const double squares = std::accumulate(
        vector.begin(), vector.end(), 0.0,
        [](double sum, float number) { return sum + static_cast<double>(number) * number; });
    // Also false for NaN.
    if (!(squares > 0) || std::isinf(squares)) {
      return unusable_answer(
          "an embedding is no direction: its numbers are all 0, or not finite; use a model that "
          "embeds texts");
    }
    const auto length = static_cast<float>(std::sqrt(squares));
    for (float& number : vector)
      number /= length;
  }
  return EmbedReply{.vectors = std::move(answer.embeddings), .usage = answer.usage};
}

}  // namespace

DispatchedProgramModels::DispatchedProgramModels(dispatch::Models& models,
                                                 DispatchedProgramModelsOptions options)
    : models_(models), options_(std::move(options)) {}

std::variant<std::shared_ptr<const ContextModel>, llm::Failure> DispatchedProgramModels::find(
    std::string_view name) {
  auto found = models_.find(llm::Endpoint::kChatCompletions, name);
  if (auto* failure = std::get_if<llm::Failure>(&found)) return std::move(*failure);
  const auto& model = std::get<dispatch::Model>(found);
  std::shared_ptr<const llm::Tokenizer> tokenizer;
  if (!model.raw) {
    auto read = options_.tokenizer_of(model.name);
    if (!read || *read == nullptr) {
      return llm::Failure{
          .code = "no_tokenizer",
          .message = fmt::format("the vocabulary of {} cannot be used, so programs cannot ask it: "
                                 "{}; check its file",
                                 model.name, read ? "there is none" : read.error().message),
          .param = "model"};
    }
    tokenizer = *std::move(read);
  }
  // Asked anew each time, as models come and go; contexts of one model share what it is.
  const std::scoped_lock lock(mutex_);
  std::shared_ptr<const ContextModel>& known = found_[model.name];
  if (!known || known->tokenizer != tokenizer) {
    known = std::make_shared<const ContextModel>(
        ContextModel{.name = model.name, .tokenizer = std::move(tokenizer)});
  }
  return known;
}

// A context keeps its model longer than a server may.
std::variant<dispatch::Model, llm::Failure> DispatchedProgramModels::served(
    const ContextModel& model) {
  auto found = models_.find(llm::Endpoint::kChatCompletions, model.name);
  const auto* now = std::get_if<dispatch::Model>(&found);
  if (now == nullptr || now->raw == (model.tokenizer == nullptr)) return found;
  return llm::Failure{
      .status = 404,
      .code = "model_not_found",
      .message = fmt::format("{} was {} when the context was made, and now is not; make a new "
                             "context",
                             model.name, now->raw ? "in this process" : "served by another server"),
      .param = "model"};
}

void DispatchedProgramModels::send(const dispatch::Model& model, llm::Request request,
                                   size_t prompt_bytes, const CallOwner& owner,
                                   std::stop_token unwanted, Answered done) {
  DispatchedCall call{.dispatcher = model.dispatcher};
  if (options_.expected_cost) {
    auto expected = options_.expected_cost(request);
    if (auto* failure = std::get_if<llm::Failure>(&expected)) return done(std::move(*failure));
    call.expected = std::get<dispatch::Cost>(expected);
  }
  dispatch::WorkItem& item = call.item;
  item = dispatch::request_item(request, prompt_bytes);
  item.priority = owner.priority;
  item.part = owner.part;
  item.group = owner.group;
  item.upstreams = models_.upstreams_of(model.name);
  if (!owner.key.empty()) {
    item.tenant = dispatch::tenant_id(owner.key);
    if (options_.weight_of) item.weight = options_.weight_of(owner.key);
  }
  call.delivery.trace_tag = owner.trace_tag;
  call.request = std::move(request);
  if (options_.charge && !owner.key.empty()) {
    done = [this, key = owner.key, done = std::move(done)](llm::Outcome outcome) {
      if (const auto* answer = std::get_if<llm::Answer>(&outcome))
        options_.charge(key, answer->usage);
      done(std::move(outcome));
    };
  }
  calls_.ask(std::move(call), std::move(unwanted), std::move(done));
}

void DispatchedProgramModels::generate(std::shared_ptr<const ContextModel> model, Prompt prompt,
                                       GenerateOptions options, CallOwner owner,
                                       std::stop_token unwanted, CallDone<GenerateReply> done) {
  auto found = served(*model);
  if (auto* failure = std::get_if<llm::Failure>(&found)) return done(std::move(*failure));
  if (auto fault = fault_of(options)) return done(*std::move(fault));
  const auto& answering = std::get<dispatch::Model>(found);
  if (answering.raw) {
    std::vector<std::string> choices;
    if (options.structured) choices = options.structured->choices;
    llm::Request request = upstream_request(answering.name, std::move(prompt), options,
                                            options_.output_tokens_default);
    const size_t bytes = request.raw.size();
    return send(answering, std::move(request), bytes, owner, std::move(unwanted),
                [choices = std::move(choices), done = std::move(done)](llm::Outcome outcome) {
                  if (auto* failure = std::get_if<llm::Failure>(&outcome))
                    return done(std::move(*failure));
                  auto reply = read_upstream_reply(std::get<llm::Answer>(outcome), choices);
                  std::visit([&](auto& it) { done(std::move(it)); }, reply);
                });
  }
  llm::Request request = generate_request(*model, std::move(prompt), std::move(options),
                                          options_.output_tokens_default);
  const size_t bytes = bytes_like(request);
  send(answering, std::move(request), bytes, owner, std::move(unwanted),
       [done = std::move(done)](llm::Outcome outcome) {
         if (auto* failure = std::get_if<llm::Failure>(&outcome)) return done(std::move(*failure));
         auto& answer = std::get<llm::Answer>(outcome);
         if (answer.choices.empty())
           return done(unusable_answer("the answer has no choice; try again"));
         done(GenerateReply{.choice = std::move(answer.choices.front()), .usage = answer.usage});
       });
}

void DispatchedProgramModels::score(std::shared_ptr<const ContextModel> model, Prompt prompt,
                                    std::vector<std::vector<int32_t>> continuations,
                                    CallOwner owner, std::stop_token unwanted,
                                    CallDone<ScoreReply> done) {
  if (model->tokenizer == nullptr) {
    return done(llm::Failure{
        .code = "not_for_upstream",
        .message = fmt::format("score needs a model in this process, and {} is served by another "
                               "server; use select, which asks it for one of the texts",
                               model->name.empty() ? "this one" : model->name),
        .param = "model"});
  }
  auto found = served(*model);
  if (auto* failure = std::get_if<llm::Failure>(&found)) return done(std::move(*failure));
  auto made = score_request(*model, prompt, continuations);
  if (auto* failure = std::get_if<llm::Failure>(&made)) return done(std::move(*failure));
  std::vector<size_t> tokens;
  tokens.reserve(continuations.size());
  for (const std::vector<int32_t>& continuation : continuations)
    tokens.push_back(continuation.size());
  auto& request = std::get<llm::Request>(made);
  const size_t bytes = bytes_like(request);
  send(std::get<dispatch::Model>(found), std::move(request), bytes, owner, std::move(unwanted),
       [tokens = std::move(tokens), done = std::move(done)](llm::Outcome outcome) {
         if (auto* failure = std::get_if<llm::Failure>(&outcome)) return done(std::move(*failure));
         auto reply = read_scores(std::get<llm::Answer>(outcome), tokens);
         std::visit([&](auto& it) { done(std::move(it)); }, reply);
       });
}

void DispatchedProgramModels::embed(std::string_view model, std::vector<std::string> texts,
                                    CallOwner owner, std::stop_token unwanted,
                                    CallDone<EmbedReply> done) {
  auto found = models_.find(llm::Endpoint::kEmbeddings,
                            model.empty() ? std::string_view(options_.embed_model) : model);
  if (auto* failure = std::get_if<llm::Failure>(&found)) return done(std::move(*failure));
  const size_t count = texts.size();
  if (count == 0) return done(EmbedReply{});
  const auto& embedding = std::get<dispatch::Model>(found);
  llm::Request request;
  size_t bytes = 0;
  if (embedding.raw) {
    const json::object body{{"model", embedding.name},
                            {"input", json::array(texts.begin(), texts.end())}};
    request = llm::raw_request(llm::Endpoint::kEmbeddings, json::serialize(body), body, {});
    bytes = request.raw.size();
  } else {
    request.endpoint = llm::Endpoint::kEmbeddings;
    request.model = embedding.name;
    request.inputs.reserve(count);
    for (std::string& text : texts) {
      bytes += text.size();
      request.inputs.push_back({.text = std::move(text), .tokens = {}});
    }
  }
  send(embedding, std::move(request), bytes, owner, std::move(unwanted),
       [count, done = std::move(done)](llm::Outcome outcome) {
         if (auto* failure = std::get_if<llm::Failure>(&outcome)) return done(std::move(*failure));
         auto reply = read_vectors(std::get<llm::Answer>(std::move(outcome)), count);
         std::visit([&](auto& it) { done(std::move(it)); }, reply);
       });
}

std::unique_ptr<llm::PrefixHold> DispatchedProgramModels::hold(const ContextModel& model,
                                                               std::vector<int32_t> tokens) {
  if (model.tokenizer == nullptr) return nullptr;
  const auto found = served(model);
  const auto* holding = std::get_if<dispatch::Model>(&found);
  return holding == nullptr ? nullptr : holding->dispatcher->hold(std::move(tokens));
}

size_t DispatchedProgramModels::waiting() const {
  return calls_.waiting();
}

}  // namespace windrow::program
