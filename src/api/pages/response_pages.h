// The endpoints for stored responses: GET and DELETE /v1/responses/{id}, and
// GET /v1/responses/{id}/input_items. Any thread; nothing blocks. Errors are replies, too.
#pragma once

#include <string_view>

#include "api/storage/response_store.h"
#include "http/server.h"

namespace windrow::api {

// The response as it was answered. `query` may ask for additions that OpenAI has; none exist here.
http::ServerReply show_response(ResponseStore& store, std::string_view key, std::string_view id,
                                std::string_view query);

http::ServerReply delete_response(ResponseStore& store, std::string_view key, std::string_view id);

// The input items of the response, newest first. `query` has limit (1 to 100, default 20), order
// ("desc" or "asc") and after, an item's id. Takes long for long conversations.
http::ServerReply show_input_items(ResponseStore& store, std::string_view key, std::string_view id,
                                   std::string_view query);

}  // namespace windrow::api
