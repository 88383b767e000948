// The failures that the server answers for reasons of its own: its state, its memory, its models.
// Pure.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/result.h"
#include "llm/answer.h"

namespace windrow::api {

llm::Failure loading();
llm::Failure stopping();

// No upstream is reachable, or none that has this model.
llm::Failure unreachable();
llm::Failure unreachable(std::string_view model);

// The last load of the model failed. `why` is shown to clients.
llm::Failure load_failed(std::string_view model, std::string_view why);

// For a client that waits for a model to be loaded. not_loaded: the order was withdrawn, and no
// load failed. still_loading: the client has waited as long as it may.
llm::Failure not_loaded(std::string_view model);
llm::Failure still_loading(std::string_view model);

// The server has not enough memory for `what`: "to write this answer".
llm::Failure no_memory(std::string_view what);

// A body cannot be read: it needs too much memory; it cannot be decompressed, or is too large then;
// it has more than kJsonValuesMax values.
llm::Failure unreadable_body();
llm::Failure unpackable_body(const Error& why);
llm::Failure too_many_values(size_t values);

// ActiveCalls::kPagesMax pages are being made.
llm::Failure too_many_pages();

// For the log only.
llm::Failure client_left();

// A defect of the server, which could not `what`: "write this answer".
llm::Failure unexpected(std::string_view what);

llm::Failure no_model(std::string_view name);

// For /v1/responses/compact, which this server does not implement.
llm::Failure nothing_compacted();

}  // namespace windrow::api
