#include "api/refusals.h"

#include <fmt/format.h>

#include <utility>

#include "llm/json_values.h"

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

llm::Failure no_memory(std::string_view what) {
  return {.failure_class = llm::FailureClass::kRequest,
          .status = 500,
          .code = "out_of_memory",
          .message = fmt::format("there is not memory enough {}; ask for less at once", what)};
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
