// Writes the server's description of itself, and replies as the server makes them, each with the
// name of the schema that it must have.
#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "api/calls/live_requests.h"
#include "api/calls/model_registry.h"
#include "api/memory/memory_json.h"
#include "api/pages/models_page.h"
#include "api/pages/pages.h"
#include "api/pages/tokenizer_pages.h"
#include "api/session/session_request.h"
#include "api/storage/response_store.h"
#include "api/testing/all_parts.h"
#include "api/testing/byte_tokenizer.h"
#include "api/wire/call_reply.h"
#include "api/wire/error_reply.h"
#include "api/wire/messages_reply.h"
#include "api/wire/ollama_reply.h"
#include "api/wire/responses_reply.h"
#include "api/wire/stream_text.h"
#include "batches/batch_json.h"
#include "session/samples/records_body.h"

namespace windrow::api {
namespace {

namespace json = boost::json;
using llm::Endpoint;

json::array replies;

void add(std::string_view schema, json::value body) {
  replies.push_back({{"schema", schema}, {"body", std::move(body)}});
}

llm::ScoredToken scored(std::string bytes) {
  return {.chosen = {.token = 1, .bytes = bytes, .logprob = -0.5F},
          .top = {{.token = 1, .bytes = std::move(bytes), .logprob = -0.5F},
                  {.token = 2, .bytes = "\xFF", .logprob = -3}}};
}

// Answers with everything, and with as little as there can be.
std::vector<llm::Answer> answers() {
  llm::Answer all;
  all.usage = {.prompt_tokens = 7, .completion_tokens = 2, .cached_tokens = 3};
  all.choices.push_back({.text = "ab",
                         .reasoning = "hm",
                         .finish_reason = llm::FinishReason::kLength,
                         .structure = llm::StructureLabel::kTruncated,
                         .tokens = {scored("a"), scored("b")}});
  all.choices.push_back({.text = ""});
  all.embeddings = {{0.6F, 0.8F}, {1, 0}};
  all.ranking = {{.index = 1, .score = 2.5F, .text = "a"}, {.index = 0, .score = -1}};
  llm::Answer little;
  little.choices.push_back({.text = "x"});
  little.embeddings = {{1}};
  little.base64 = true;
  little.ranking = {{.index = 0}};
  return {std::move(all), std::move(little)};
}

ReplyFacts facts(Endpoint endpoint) {
  return {.endpoint = endpoint, .id = "1", .model = "m", .created_unix_s = 1'700'000'000};
}

void add_answers() {
  const std::vector<std::pair<Endpoint, std::string_view>> shapes = {
      {Endpoint::kChatCompletions, "ChatCompletion"},
      {Endpoint::kCompletions, "Completion"},
      {Endpoint::kEmbeddings, "EmbeddingList"},
      {Endpoint::kRerank, "Ranking"}};
  for (const llm::Answer& answer : answers()) {
    for (const auto& [endpoint, schema] : shapes)
      add(schema, json::parse(reply_body(facts(endpoint), answer)));
    ReplyFacts tei = facts(Endpoint::kRerank);
    tei.tei = true;
    add("TeiRanking", json::parse(reply_body(tei, answer)));
    ReplyFacts flex = facts(Endpoint::kChatCompletions);
    flex.service_tier = "flex";
    add("ChatCompletion", json::parse(reply_body(flex, answer)));
  }
}

void add_events(std::string_view schema, const std::string& events) {
  constexpr std::string_view kMark = "data: ";
  for (size_t at = events.find(kMark); at != std::string::npos; at = events.find(kMark, at)) {
    at += kMark.size();
    const std::string data = events.substr(at, events.find('\n', at) - at);
    if (data != "[DONE]") add(schema, json::parse(data));
  }
}

void add_streams(Endpoint endpoint, std::string_view schema) {
  for (const llm::Answer& answer : answers()) {
    StreamText stream({.endpoint = endpoint,
                       .id = "1",
                       .model = "m",
                       .service_tier = "default",
                       .usage = true,
                       .logprobs = true,
                       .structured = true});
    std::string events;
    stream.emit({.choice = 0, .text = answer.choices[0].text.substr(0, 1)}, events);
    stream.end(answer, events);
    add_events(schema, events);
  }
}

// The formats of other APIs: whole, and as events.
void add_dialects() {
  llm::Answer calls;
  calls.choices.push_back({.tool_calls = {{.id = "call_1", .name = "f", .arguments = R"({"a":1})"},
                                          {.id = "call_2", .name = "f", .arguments = "{\"a\":"}},
                           .finish_reason = llm::FinishReason::kToolCalls});
  std::vector<llm::Answer> all = answers();
  all.push_back(std::move(calls));
  for (const Dialect dialect : {Dialect::kResponses, Dialect::kMessages}) {
    ReplyFacts own = facts(Endpoint::kChatCompletions);
    own.dialect = dialect;
    own.logprobs = true;
    if (dialect == Dialect::kResponses) own.echo = responses_echo({}, {}, false);
    const bool messages = dialect == Dialect::kMessages;
    for (const llm::Answer& answer : all) {
      add(messages ? "AnthropicMessage" : "Response", json::parse(reply_body(own, answer)));
      for (const bool fails : {false, true}) {
        const auto stream = stream_in_dialect(own);
        std::string events;
        stream->emit({.text = answer.choices[0].text.substr(0, 1)}, events);
        if (fails) {
          stream->fail({.status = 500, .message = "what"}, events);
        } else {
          stream->end(answer, events);
        }
        add_events(messages ? "AnthropicEvent" : "ResponseEvent", events);
      }
    }
  }
  add("TokenCount", json::parse(token_count_of(7)));
  add("AnthropicError",
      json::parse(error_reply(404, "no such path", Dialect::kMessages, "req_1").body));
}

void add_pages() {
  const std::vector<ServedModel> models = {
      {.name = "chat", .endpoints = {Endpoint::kChatCompletions}, .context_tokens = 4096},
      {.name = "a/b"}};
  add("ModelList", json::parse(models_page(models)));
  add("Model", json::parse(model_page(models, "chat").value()));
  add("Model", json::parse(model_page(models, "a/b").value()));
  LiveRequests live;
  add("LiveRequestList", live.to_json(TimePoint{}, 10));
  const auto first = live.add({.id = "chatcmpl-1", .key = "alice", .model = "m", .lane = "l"});
  const auto second = live.add({.id = "embd-2", .endpoint = Endpoint::kEmbeddings});
  first->received(TimePoint{}, 3);
  add("LiveRequestList", live.to_json(TimePoint{}, 10));
  add("Error", json::parse(error_body({.message = "what", .param = "n"})));
  add("Error", json::parse(error_reply(404, "no such path").body));
}

// Pages of kept responses, and those of Ollama's API.
void add_kept_and_ollama() {
  ResponseStore store(size_t{1} << 20);
  store.keep("", {.id = "resp_1",
                  .body = R"({"output":[{"type":"message","id":"msg_1"}]})",
                  .input = stored_items(
                      "resp_1", {{{"type", "message"}, {"role", "user"}, {"content", "hi"}}}),
                  .output_ids = {"msg_1"}});
  add("ResponseInputItems", json::parse(show_input_items(store, "", "resp_1", "").body));
  add("ResponseDeleted", json::parse(delete_response(store, "", "resp_1").body));

  const std::vector<ServedModel> models = {
      {.name = "chat", .endpoints = {Endpoint::kChatCompletions}, .context_tokens = 4096},
      {.name = "a/b"}};
  add("OllamaModels", json::parse(ollama_tags(models)));
  add("OllamaModels", json::parse(ollama_ps(models)));
  add("OllamaVersion", {{"version", "1"}});
  ModelRegistry catalogue;
  for (const ServedModel& model : models)
    catalogue.add(model);
  const auto shown = ollama_show(catalogue, R"({"model":"chat"})");
  add("OllamaModel", json::parse(std::get<std::string>(shown)));
  for (const llm::Answer& answer : answers()) {
    const ReplyFacts facts_of_reply{.id = "1", .model = "m", .created_unix_s = 1'700'000'000};
    const auto reply = [&](Dialect dialect) {
      return json::parse(ollama_reply(dialect, facts_of_reply, answer));
    };
    add("OllamaChat", reply(Dialect::kOllamaChat));
    add("OllamaGeneration", reply(Dialect::kOllamaGenerate));
    add("OllamaEmbeddings", reply(Dialect::kOllamaEmbed));
    add("OllamaEmbedding", reply(Dialect::kOllamaEmbeddings));
  }
  add("OllamaError", json::parse(ollama_error({.message = "what"})));
}

// The pages of tokenizers.
void add_tokens() {
  ModelRegistry models;
  models.add({.name = "m",
              .tokenizer = std::make_shared<llm::LazyTokenizer>(
                  []() -> Result<std::shared_ptr<const llm::Tokenizer>> {
                    return std::make_shared<const testing::ByteTokenizer>();
                  })},
             /*any=*/true);
  const auto added = [&](std::string_view schema, TokenizerPage page, std::string_view body) {
    const auto answer = page(models, llm::UnknownFields::kRefuse, body);
    add(schema, json::parse(std::get<http::ServerReply>(answer).body));
  };
  added("ContentTokens", show_tokenized, R"({"content":"a"})");
  added("ContentTokens", show_tokenized, R"({"content":"a\u00e9","with_pieces":true})");
  added("PromptTokens", show_tokenized, R"({"prompt":"a"})");
  added("PromptTokens", show_tokenized,
        R"({"messages":[{"role":"user","content":"a"}],"return_token_strs":true})");
  added("DetokenizedText", show_detokenized, R"({"tokens":[97]})");
  added("RenderedPrompt", show_rendered, R"({"messages":[{"role":"user","content":"a"}]})");
}

// Files and batches at their least and at their most. Lists and what is said of a file that was
// taken away are judged as a running server says them: tests/clients/storage_test.mjs.
void add_storage() {
  batches::StoredFile file{.id = "file-1", .filename = "a.jsonl", .purpose = "batch", .bytes = 5};
  add("File", batches::file_json(file));
  file.expires_at = 1'700'003'600;
  add("File", batches::file_json(file));

  batches::BatchRecord batch{.id = "batch_1"};
  batch.request.input_file_id = "file-1";
  batch.state = {.created_at = 1'700'000'000, .expires_at = 1'700'086'400};
  add("Batch", batches::batch_json(batch));
  batch.state.status = batches::BatchStatus::kFailed;
  batch.state.failed_at = 1'700'000'001;
  batch.faults = {{.code = "invalid_json_line", .message = "what", .line = 2}};
  add("Batch", batches::batch_json(batch));
  batch.state.status = batches::BatchStatus::kCompleted;
  batch.state.completed_at = 1'700'000'002;
  batch.faults.clear();
  batch.request.metadata = {{"job", "night"}};
  batch.models = {"chat"};
  batch.counts = {.total = 3, .completed = 2, .failed = 1};
  batch.usage.emplace();
  batch.output_file_id = "file-2";
  batch.error_file_id = "file-3";
  add("Batch", batches::batch_json(batch, "the disk is full"));
  batches::BatchProgress progress;
  add("Batch", batches::batch_json(batch, "", progress));
  add("RunningBatch", batches::running_json({.id = "batch_1", .url = "/v1/embeddings"}));
  progress.left = std::chrono::seconds(4);
  progress.failures = {{.status = 400, .code = "invalid_value", .rows = 1},
                       {.status = 0, .code = "batch_expired", .rows = 2}};
  add("Batch", batches::batch_json(batch, "its key has no tokens", progress));
  add("RunningBatch", batches::running_json({.id = "batch_1",
                                             .owner = "alice",
                                             .url = "/v1/embeddings",
                                             .models = {"m"},
                                             .progress = progress}));
}

// What memory banks hold, at its least and at its most. Lists and replies of few members are judged
// as a running server says them: tests/clients/hindsight_test.mjs.
void add_memory() {
  memory::Memory fact{.id = {"m1"}, .text = "a"};
  add("MemoryDetail", memory_detail(fact, {}));
  add("MemoryList", page_json({memory_item(fact)}, 1, 100, 0));
  fact.context = "c";
  fact.times = {.event = 1, .occurred_start = 1, .occurred_end = 2, .mentioned = 3};
  fact.tags = memory::Tags({"t"});
  fact.scopes = {memory::ScopeKind::kExplicit, {memory::Tags({"t"}), memory::Tags()}};
  fact.metadata = {{"k", "v"}};
  fact.entities = {"Ana"};
  fact.document_id = "d";
  fact.chunk_id = "d_0";
  fact.edited = fact.consolidated = fact.consolidation_failed = fact.invalidated = 4;
  fact.failure = fact.invalidation_reason = "r";
  memory::Memory observation = fact;
  observation.type = memory::MemoryType::kObservation;
  observation.sources = {fact.id};
  add("MemoryDetail", memory_detail(fact, {}));
  add("MemoryDetail", memory_detail(observation, std::vector{fact}));
  add("MemoryList", page_json({memory_item(fact), memory_item(observation)}, 2, 100, 0));
  const std::vector<memory::ObservationChange> changes(1);
  add("MemoryChange", history_json(observation, changes, std::vector{fact}).front());

  memory::RecallResult recalled;
  add("MemoryRecall", recall_json(recalled, false));
  recalled.memories = {{observation, {.final_score = 1, .semantic = 0.5, .keyword = 2}}};
  recalled.chunks["d_0"] = {.id = "d_0", .document_id = "d", .text = "x"};
  recalled.source_facts["m1"] = fact;
  recalled.trace["query"] = "q";
  add("MemoryRecall", recall_json(recalled, true));
  add("MemoryReflection", reflect_json({.text = "a"}, false));
  add("MemoryReflection",
      reflect_json({.text = "a", .structured = json::object(), .based_on = {fact}}, true));

  const memory::Bank bank{.id = {"b"}, .name = "n", .mission = "m"};
  add("MemoryBank", bank_profile(bank));
  add("MemoryConfig", config_json(bank, {}, {}));
  add("MemoryStats", stats_json(bank.id, {}));
  add("MemoryStats", stats_json(bank.id, {.last_consolidated = 1}));
  const memory::Document document{.id = "d", .text = "x", .metadata = {{"k", "v"}}};
  add("MemoryDocument", document_detail(bank.id, document, {}));
  add("MemoryDocumentList", page_json({document_item(bank.id, document)}, 1, 100, 0));
  const json::object chunk = chunk_json(bank.id, recalled.chunks["d_0"], 1);
  add("MemoryChunk", chunk);
  add("MemoryChunkList", page_json({chunk}, 1, 100, 0));

  memory::Operation operation{.id = {"o"}};
  add("MemoryOperation", operation_detail(operation, false));
  operation.status = memory::OperationStatus::kProcessing;
  operation.result["progress"] = json::object{{"processed", 1}, {"created", 1}};
  operation.error = "e";
  operation.next_retry = operation.completed = 1;
  add("MemoryOperation", operation_detail(operation, true));
}

// A session as it is made, listed and shown, without turns and with one.
void add_sessions() {
  add("CreatedSession", created_json({.id = "a", .key = "ws-b"}));
  session::SessionView view{.id = "a"};
  add("SessionList", list_json({}));
  add("SessionList", list_json(std::vector{view, view}));
  auto turn = std::make_shared<session::Turn>();
  turn->id = session::TurnId(1);
  turn->appended.push_back({.text = R"({"role":"user","content":"a"})"});
  turn->answer.text = R"({"role":"assistant","content":"b"})";
  turn->prompt = {1, 2};
  turn->sampled = {3};
  turn->logprobs = {-0.5};
  turn->finish_reason = "stop";
  for (const auto& turns : {std::vector<session::TurnPtr>{}, std::vector<session::TurnPtr>{turn}}) {
    const auto body = session::make_records_body(turns, {.session_id = "a"});
    std::string text;
    while (body->next(1 << 16, text)) {
    }
    add("Session", json::parse(text));
  }
}

}  // namespace
}  // namespace windrow::api

int main() {
  using namespace windrow;  // NOLINT(google-build-using-namespace): of one line
  api::add_answers();
  api::add_streams(llm::Endpoint::kChatCompletions, "ChatCompletionChunk");
  api::add_streams(llm::Endpoint::kCompletions, "Completion");
  api::add_dialects();
  api::add_pages();
  api::add_kept_and_ollama();
  api::add_tokens();
  api::add_storage();
  api::add_memory();
  api::add_sessions();
  for (const char* state : {"ok", "ready"})
    api::add("State", {{"status", state}});
  const boost::json::object document = api::testing::whole_document();
  api::add("Document", document);
  fmt::print("{}\n", boost::json::serialize(
                         boost::json::object{{"document", document}, {"replies", api::replies}}));
}
