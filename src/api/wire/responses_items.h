// The `input` of /v1/responses as messages of a chat. Pure.
//
// Items of the assistant that follow each other - its thoughts, what it said, the functions it
// called - are one message, as templates know them. Items of earlier turns, which
// previous_response_id and item_reference name, are read as if they had been sent.
#pragma once

#include <boost/json/value.hpp>
#include <string_view>

#include "api/wire/body_fields.h"

namespace windrow::api {

llm::Problem read_input(std::string_view name, const boost::json::value& value,
                        TranslationDraft& draft);

}  // namespace windrow::api
