#include "batches/file_json.h"

#include <boost/json/value.hpp>

namespace windrow::batches {

namespace json = boost::json;

json::object file_json(const StoredFile& file) {
  return {{"id", file.id},
          {"object", "file"},
          {"bytes", file.bytes},
          {"created_at", file.created_at},
          {"expires_at", file.expires_at ? json::value(*file.expires_at) : json::value(nullptr)},
          {"filename", file.filename},
          {"purpose", file.purpose},
          {"status", "processed"}};
}

}  // namespace windrow::batches
