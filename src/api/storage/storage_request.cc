#include "api/storage/storage_request.h"

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <variant>

#include "batches/batch_json.h"

namespace windrow::api {

http::ServerReply reply_of(const boost::json::object& object) {
  return {.body = boost::json::serialize(object)};
}

PartAnswer reply_of(const batches::Reply<batches::BatchView>& reply) {
  if (const auto* failure = std::get_if<llm::Failure>(&reply)) return *failure;
  const auto& view = std::get<batches::BatchView>(reply);
  return reply_of(batches::batch_json(view.record, view.note, view.progress));
}

PartAnswer reply_of(const batches::Reply<batches::StoredFile>& reply) {
  if (const auto* failure = std::get_if<llm::Failure>(&reply)) return *failure;
  return reply_of(batches::file_json(std::get<batches::StoredFile>(reply)));
}

}  // namespace windrow::api
