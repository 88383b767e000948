// The `system` and the `messages` of /v1/messages as messages of a chat. Pure.
//
// A message of the user is as many messages of a chat as it needs: results of tools are messages of
// their own there.
#pragma once

#include <boost/json/value.hpp>
#include <string_view>

#include "api/wire/body_fields.h"

namespace windrow::api {

llm::Problem read_system(std::string_view name, const boost::json::value& value,
                         TranslationDraft& draft);
llm::Problem read_turns(std::string_view name, const boost::json::value& value,
                        TranslationDraft& draft);

}  // namespace windrow::api
