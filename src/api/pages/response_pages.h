// The pages of responses that are kept: GET and DELETE /v1/responses/{id}, and
// GET /v1/responses/{id}/input_items. Any thread.
#pragma once

#include <string_view>

#include "api/storage/response_store.h"
#include "http/server.h"

namespace windrow::api {

// As it was answered. `query` may ask for what OpenAI can add to it, none of which there is here.
http::ServerReply show_response(ResponseStore& store, std::string_view key, std::string_view id,
                                std::string_view query);

http::ServerReply delete_response(ResponseStore& store, std::string_view key, std::string_view id);

// The items that it was made from, the newest first; `query` has limit (1 to 100, 20), order
// ("desc" or "asc") and after, an item's id.
http::ServerReply show_input_items(ResponseStore& store, std::string_view key, std::string_view id,
                                   std::string_view query);

}  // namespace windrow::api
