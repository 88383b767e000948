#include "upstream/device_memory.h"

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

namespace windrow::upstream {

namespace json = boost::json;

uint64_t device_bytes_of(std::string_view loaded_models) {
  boost::system::error_code error;
  const json::value body = json::parse(loaded_models, error);
  const json::object* object = error ? nullptr : body.if_object();
  const json::value* models = object == nullptr ? nullptr : object->if_contains("models");
  if (models == nullptr || !models->is_array()) return 0;
  uint64_t sum = 0;
  for (const json::value& model : models->get_array()) {
    const json::object* facts = model.if_object();
    const json::value* bytes = facts == nullptr ? nullptr : facts->if_contains("size_vram");
    if (bytes == nullptr || !bytes->is_number()) continue;
    const auto count = bytes->to_number<uint64_t>(error);
    if (!error) sum += count;
  }
  return sum;
}

}  // namespace windrow::upstream
