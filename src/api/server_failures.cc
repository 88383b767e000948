#include "api/server_failures.h"

#include <cstdint>
#include <string>
#include <utility>

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

llm::Failure full() {
  return {.failure_class = llm::FailureClass::kTransient,
          .status = 429,
          .code = "server_overloaded",
          .message =
              "the bodies that are being worked on take all the memory there is for them; "
              "try again later",
          .overloaded = true,
          .retry_after_ms = 1000};
}

llm::Failure nothing_stored() {
  return {
      .failure_class = llm::FailureClass::kRequest,
      .status = 404,
      .code = "not_found",
      .message = "no response is stored here: what /v1/responses answers is all there is of it"};
}

}  // namespace windrow::api
