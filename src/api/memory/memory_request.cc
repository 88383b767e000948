#include "api/memory/memory_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <charconv>

#include "api/wire/error_reply.h"

namespace windrow::api {

namespace json = boost::json;

namespace {

// "body.items[0].tags" -> ["body", "items", 0, "tags"]
json::array location(std::string_view path) {
  json::array parts;
  while (!path.empty()) {
    const bool is_index = path.front() == '[';
    if (is_index || path.front() == '.') path.remove_prefix(1);
    const size_t end = std::min(path.find_first_of(is_index ? "]" : ".["), path.size());
    const std::string_view part = path.substr(0, end);
    int64_t index = 0;
    const auto [stop, error] = std::from_chars(part.data(), part.data() + part.size(), index);
    if (is_index && error == std::errc() && stop == part.data() + part.size()) {
      parts.emplace_back(index);
    } else if (!part.empty()) {
      parts.emplace_back(part);
    }
    path.remove_prefix(std::min(path.size(), end + (is_index ? 1 : 0)));
  }
  return parts;
}

}  // namespace

http::ServerReply memory_error(const llm::Failure& failure) {
  http::ServerReply reply = error_reply(failure);
  json::object body;
  if (reply.status == 422 && !failure.param.empty()) {
    body["detail"] = json::array{json::object{
        {"loc", location(failure.param)}, {"msg", failure.message}, {"type", failure.code}}};
  } else {
    body["detail"] = failure.message;
  }
  reply.body = json::serialize(body);
  return reply;
}

http::ServerReply memory_reply(const json::object& object) {
  return {.body = json::serialize(object)};
}

http::ServerReply memory_reply(const json::array& array) {
  return {.body = json::serialize(array)};
}

llm::Failure not_there(std::string_view what) {
  return {.failure_class = llm::FailureClass::kRequest,
          .status = 501,
          .code = "not_implemented",
          .message = std::string(what)};
}

bool is_missing_bank(const llm::Failure& failure) {
  return failure.status == 404 && failure.code == "bank_not_found";
}

llm::Failure store_failure(const Error& error, std::string_view what) {
  return memory::failure_of(error, what);
}

void consolidate_again(const MemoryRequest& request) {
  const auto view = request.service.config(request.viewer(), request.bank);
  const auto* found = std::get_if<memory::MemoryService::ConfigView>(&view);
  if (found == nullptr || !found->config.enable_observations ||
      !found->config.enable_auto_consolidation)
    return;
  static_cast<void>(request.service.consolidate(request.viewer(), request.bank));
}

}  // namespace windrow::api
