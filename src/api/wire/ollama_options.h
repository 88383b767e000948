// The object `options` of Ollama's requests: how an answer is drawn, and how a model runs. Pure.
//
// What says how a model runs is decided where this server is started, so it is taken without
// effect; what would draw an answer in a way that there is not here is refused by name.
#pragma once

#include <boost/json/value.hpp>
#include <span>
#include <string_view>

#include "api/wire/body_fields.h"
#include "llm/request_json.h"

namespace windrow::api {

llm::Problem read_ollama_options(std::string_view name, const boost::json::value& value,
                                 TranslationDraft& draft);

// For documents, and the test that holds them to the code.
struct OllamaOption {
  std::string_view name;
  llm::FieldUse use = llm::FieldUse::kHonoured;
  std::string_view values;  // what is accepted; kRefused: the one value, as JSON
  std::string_view made;    // kHonoured: the field of a chat that it becomes
};
std::span<const OllamaOption> ollama_options();

}  // namespace windrow::api
