#include "api/wire/refusals.h"

#include <fmt/format.h>

#include <utility>

#include "base/format.h"
#include "json/limits.h"
#include "llm/field_values.h"

namespace windrow::api {
namespace {

llm::Failure unavailable(std::string code, std::string message, int64_t retry_after_ms) {
  return {.failure_class = llm::FailureClass::kTransient,
          .status = 503,
          .code = std::move(code),
          .message = std::move(message),
          .overloaded = true,
          .retry_after_ms = retry_after_ms};
}

}  // namespace

llm::Failure loading() {
  return unavailable("server_loading", "the models are being loaded; try again later", 5000);
}

llm::Failure stopping() {
  return unavailable("server_stopping", "the server is stopping; try again later", 5000);
}

llm::Failure unreachable() {
  return unavailable("upstream_unreachable", "no upstream server can be reached; try again later",
                     5000);
}

llm::Failure unreachable(std::string_view model) {
  return unavailable("upstream_unreachable",
                     fmt::format("no upstream server that has the model {} can be reached; try "
                                 "again later",
                                 llm::shown(model)),
                     5000);
}

llm::Failure load_failed(std::string_view model, std::string_view why) {
  return unavailable("model_unavailable",
                     fmt::format("the model {} cannot be loaded: {}", llm::shown(model), why),
                     5000);
}

llm::Failure not_loaded(std::string_view model) {
  return unavailable(
      "model_unavailable",
      fmt::format("the model {} was not loaded: an admin has unloaded it, or it does "
                  "not fit into memory beside the models that are kept loaded; try "
                  "again, and if that does not help, ask the operator to raise "
                  "--memory or to name fewer models with --keep-loaded",
                  llm::shown(model)),
      5000);
}

llm::Failure still_loading(std::string_view model) {
  return unavailable("model_loading",
                     fmt::format("the model {} was not loaded within the time that --load-wait-s "
                                 "allows; try again later",
                                 llm::shown(model)),
                     5000);
}

llm::Failure no_memory(std::string_view what) {
  return {
      .failure_class = llm::FailureClass::kRequest,
      .status = 500,
      .code = "out_of_memory",
      .message = fmt::format("the server has not enough memory {}; send smaller requests", what)};
}

llm::Failure unreadable_body() {
  return {.failure_class = llm::FailureClass::kRequest,
          .status = 413,
          .code = "request_too_large",
          .message = "the server has not enough memory to read this body; send less at a time"};
}

llm::Failure unpackable_body(const Error& why) {
  const bool too_large = why.kind == ErrorKind::kNoSpace;
  return {.failure_class = llm::FailureClass::kRequest,
          .status = too_large ? 413 : 400,
          .code = too_large ? "request_too_large" : "bad_request",
          .message = fmt::format("the body cannot be decompressed as its Content-Encoding says: {}",
                                 why.message)};
}

llm::Failure too_many_values(size_t values) {
  return {.failure_class = llm::FailureClass::kRequest,
          .status = 413,
          .code = "request_too_large",
          .message = fmt::format("the body has about {} JSON values; at most {} are accepted, so "
                                 "spread them over several requests",
                                 with_thousands(static_cast<int64_t>(values)),
                                 with_thousands(static_cast<int64_t>(kJsonValuesMax)))};
}

llm::Failure too_many_pages() {
  return {.failure_class = llm::FailureClass::kTransient,
          .status = 429,
          .code = "server_overloaded",
          .message = "too many lists of items are being made; try again later",
          .overloaded = true,
          .retry_after_ms = 1000};
}

llm::Failure client_left() {
  return {.failure_class = llm::FailureClass::kCancelled,
          .status = 499,
          .code = "client_left",
          .message = "the client left"};
}

llm::Failure unexpected(std::string_view what) {
  return {.failure_class = llm::FailureClass::kRequest,
          .status = 500,
          .code = "internal_error",
          .message = fmt::format("this server could not {}; this is a bug of the server", what)};
}

llm::Failure no_model(std::string_view name) {
  return {.failure_class = llm::FailureClass::kRequest,
          .status = 404,
          .code = "model_not_found",
          .message = fmt::format("there is no model {}; /v1/models lists them", llm::shown(name)),
          .param = "model"};
}

llm::Failure nothing_compacted() {
  return {.failure_class = llm::FailureClass::kRequest,
          .status = 404,
          .code = "not_found",
          .message =
              "this server does not compact conversations: send the whole conversation to "
              "/v1/responses, or ask a model there for a summary and continue from that"};
}

}  // namespace windrow::api
