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

llm::Failure no_model(std::string_view name);

// Of a response that was answered once.
llm::Failure nothing_stored();

}  // namespace windrow::api
