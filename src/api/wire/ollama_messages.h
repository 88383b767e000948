// The messages of Ollama's /api/chat as messages of a chat. Pure.
//
// Ollama's calls of tools may have no ids, and what a tool brought names the tool: both get the ids
// that templates and other servers want.
#pragma once

#include <boost/json/value.hpp>
#include <string_view>

#include "api/wire/body_fields.h"

namespace windrow::api {

llm::Problem read_ollama_messages(std::string_view name, const boost::json::value& value,
                                  TranslationDraft& draft);

// Images, which models here do not read: only an empty array is accepted.
llm::Problem refuse_images(std::string_view place, const boost::json::value& value);

}  // namespace windrow::api
