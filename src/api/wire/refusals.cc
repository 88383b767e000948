#include "api/wire/refusals.h"

#include <fmt/format.h>

#include <utility>

#include "base/format.h"
#include "json/weight.h"
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
  return unavailable("server_loading", "the models are being loaded; try again in a while", 5000);
}

llm::Failure stopping() {
  return unavailable("server_stopping", "the server is being stopped; try again later", 5000);
}

llm::Failure unreachable() {
  return unavailable("upstream_unreachable",
                     "none of the servers behind this one can be reached; try again later", 5000);
}

llm::Failure unreachable(std::string_view model) {
  return unavailable("upstream_unreachable",
                     fmt::format("none of the servers behind this one that have the model {} can "
                                 "be reached; try again later",
                                 llm::shown(model)),
                     5000);
}

llm::Failure load_failed(std::string_view model, std::string_view why) {
  return unavailable("model_unavailable",
                     fmt::format("the model {} cannot be loaded: {}", llm::shown(model), why),
                     5000);
}

llm::Failure not_loaded(std::string_view model) {
  return unavailable("model_unavailable",
                     fmt::format("the model {} was not loaded: an admin had it unloaded meanwhile, "
                                 "or it has no room beside those that are kept loaded; try again, "
                                 "and if it stays so, have --memory raised or fewer models named "
                                 "by --keep-loaded",
                                 llm::shown(model)),
                     5000);
}

llm::Failure still_loading(std::string_view model) {
  return unavailable("model_loading",
                     fmt::format("the model {} is not loaded after as long as --load-wait-s lets "
                                 "anybody wait; try again later",
                                 llm::shown(model)),
                     5000);
}

llm::Failure no_memory(std::string_view what) {
  return {.failure_class = llm::FailureClass::kRequest,
          .status = 500,
          .code = "out_of_memory",
          .message = fmt::format("there is not memory enough {}; ask for less at once", what)};
}

llm::Failure unreadable_body() {
  return {.failure_class = llm::FailureClass::kRequest,
          .status = 413,
          .code = "request_too_large",
          .message = "there is not memory enough to read this body; send less at once"};
}

llm::Failure unpackable_body(const Error& why) {
  const bool too_large = why.kind == ErrorKind::kNoSpace;
  return {.failure_class = llm::FailureClass::kRequest,
          .status = too_large ? 413 : 400,
          .code = too_large ? "request_too_large" : "bad_request",
          .message = fmt::format("the body cannot be unpacked as its Content-Encoding says: {}",
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
          .message =
              "as many lists of items as this server makes at a time are being made; try again "
              "later",
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
          .message = fmt::format("this server could not {}; that is a defect of the server", what)};
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
              "no conversation is compacted here: send it as it is to /v1/responses, or have a "
              "summary of it written there and go on from that"};
}

}  // namespace windrow::api
