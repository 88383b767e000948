// Why the server takes no call, or not this one, for reasons of its own. Pure.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/result.h"
#include "llm/answer.h"

namespace windrow::api {

llm::Failure loading();
llm::Failure stopping();

// None of the servers elsewhere is there, or none of those that have this model.
llm::Failure unreachable();
llm::Failure unreachable(std::string_view model);

// The last load of the model failed. `why`: in words for clients.
llm::Failure load_failed(std::string_view model, std::string_view why);

// A client waits for the model to be loaded. not_loaded: the order to load it is gone, and no load
// failed. still_loading: the client has waited as long as it may.
llm::Failure not_loaded(std::string_view model);
llm::Failure still_loading(std::string_view model);

// The server has not memory enough for `what`: "to write this answer".
llm::Failure no_memory(std::string_view what);

// A body cannot be read: there is no memory for what it says; it is not packed as it claims, or is
// too large when it is unpacked; it has more than kJsonValuesMax values.
llm::Failure unreadable_body();
llm::Failure unpackable_body(const Error& why);
llm::Failure too_many_values(size_t values);

// As many pages as may be are made at the moment (ActiveCalls::kPagesMax).
llm::Failure too_many_pages();

// Only the log says it: nobody is there to read it.
llm::Failure client_left();

// A defect of the server; `what` it could not do: "write this answer".
llm::Failure unexpected(std::string_view what);

llm::Failure no_model(std::string_view name);

// A conversation was to be made shorter, which this server does not do.
llm::Failure nothing_compacted();

}  // namespace windrow::api
