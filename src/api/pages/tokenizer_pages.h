// POST /tokenize, /detokenize and /apply-template: a model's tokenizer and chat template in the
// formats of llama-server and vLLM. They need the model's file and not its weights, so they answer
// whether the model is loaded or not. docs/api.md lists the fields.
//
// A page is a reply, or what is wrong: with the field and its cause, in the name of the client's
// field. 400 unsupported_by_model for a model without a tokenizer, or with one that is not
// its own (LazyTokenizer::refuse). Any thread; blocks while the
// model's tokenizer is loaded, which is once.
#pragma once

#include <span>
#include <string_view>
#include <utility>
#include <variant>

#include "api/calls/model_registry.h"
#include "http/server.h"
#include "llm/answer.h"
#include "llm/request_json.h"

namespace windrow::api {

using TokenizerPage = std::variant<http::ServerReply, llm::Failure> (*)(
    const ModelRegistry& models, llm::UnknownFields unknown_fields, std::string_view body);

// Their paths, all of POST.
std::span<const std::pair<std::string_view, TokenizerPage>> tokenizer_pages();

// {"content"} as llama-server has it, {"prompt"} or {"messages"} as vLLM does.
std::variant<http::ServerReply, llm::Failure> show_tokenized(const ModelRegistry& models,
                                                             llm::UnknownFields unknown_fields,
                                                             std::string_view body);

// {"tokens"}; the text is in the reply under both servers' names.
std::variant<http::ServerReply, llm::Failure> show_detokenized(const ModelRegistry& models,
                                                               llm::UnknownFields unknown_fields,
                                                               std::string_view body);

// {"messages"} and what else a chat template knows.
std::variant<http::ServerReply, llm::Failure> show_rendered(const ModelRegistry& models,
                                                            llm::UnknownFields unknown_fields,
                                                            std::string_view body);

}  // namespace windrow::api
