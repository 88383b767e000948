#include "api/storage/storage_request.h"

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <utility>

#include "api/wire/error_reply.h"
#include "batches/batch_json.h"

namespace windrow::api {

void StorageRequest::answer(StorageAnswer answer) {
  if (const auto* failure = std::get_if<llm::Failure>(&answer)) {
    context.record().code = failure->code;
    answer = error_reply(*failure);
  }
  auto& reply = std::get<http::ServerReply>(answer);
  context.record().status = reply.status;
  context.add_headers(reply.headers);
  exchange.send(std::move(reply));
}

http::ServerReply reply_of(const boost::json::object& object) {
  return {.body = boost::json::serialize(object)};
}

StorageAnswer reply_of(const batches::Reply<batches::BatchView>& reply) {
  if (const auto* failure = std::get_if<llm::Failure>(&reply)) return *failure;
  const auto& view = std::get<batches::BatchView>(reply);
  return reply_of(batches::batch_json(view.record, view.note));
}

StorageAnswer reply_of(const batches::Reply<batches::StoredFile>& reply) {
  if (const auto* failure = std::get_if<llm::Failure>(&reply)) return *failure;
  return reply_of(batches::file_json(std::get<batches::StoredFile>(reply)));
}

}  // namespace windrow::api
