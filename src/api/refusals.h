// Why the server takes no call, or not this one, for reasons of its own. Pure.
#pragma once

#include <string_view>

#include "llm/answer.h"

namespace windrow::api {

llm::Failure loading();
llm::Failure stopping();

// Nobody of the servers elsewhere is there, or nobody who has this model.
llm::Failure unreachable();
llm::Failure unreachable(std::string_view model);

// Its last load failed; why, in words for clients.
llm::Failure load_failed(std::string_view model, std::string_view why);

// `what`: "to write this answer".
llm::Failure no_memory(std::string_view what);

llm::Failure no_model(std::string_view name);

// Of a conversation that was to be made shorter.
llm::Failure nothing_compacted();

}  // namespace windrow::api
