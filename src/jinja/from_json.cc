#include "jinja/from_json.h"

#include <algorithm>

#include "base/utf8.h"
#include "jinja/failure.h"

namespace windrow::jinja {
namespace {

class Converter {
 public:
  explicit Converter(Runtime& runtime) : runtime_(runtime) {}

  // `trusted`: what is left of the paths that lead here; an empty one means all of it is trusted.
  Value convert(const boost::json::value& json, const std::vector<std::string_view>& trusted) {
    const Budget::Level level(runtime_.budget);
    const bool is_trusted = std::any_of(trusted.begin(), trusted.end(),
                                        [](std::string_view path) { return path.empty(); });
    const Origin origin = is_trusted ? Origin::kTemplate : Origin::kInput;
    switch (json.kind()) {
      case boost::json::kind::null:
        return Value(None{}).with_origin(origin);
      case boost::json::kind::bool_:
        return Value(json.get_bool()).with_origin(origin);
      case boost::json::kind::int64:
        return Value::integer(json.get_int64()).with_origin(origin);
      case boost::json::kind::uint64:
        return Value(Integer{json.get_uint64()}).with_origin(origin);
      case boost::json::kind::double_:
        return Value(json.get_double()).with_origin(origin);
      case boost::json::kind::string:
        return text(json.get_string(), origin);
      case boost::json::kind::array: {
        const std::vector<std::string_view> inner = below(trusted, "*");
        std::vector<Value> items;
        items.reserve(json.get_array().size());
        for (const auto& item : json.get_array())
          items.push_back(convert(item, inner));
        return runtime_.list(std::move(items), ListKind::kList, origin);
      }
      case boost::json::kind::object: {
        std::vector<Dict::Entry> entries;
        entries.reserve(json.get_object().size());
        for (const auto& [key, value] : json.get_object()) {
          entries.emplace_back(text(key, origin), convert(value, below(trusted, key)));
        }
        return runtime_.dict(std::move(entries), origin);
      }
    }
    return Value();
  }

 private:
  Value text(std::string_view bytes, Origin origin) {
    return Value(std::make_shared<const Text>(utf8_repair(bytes), origin));
  }

  // What is left of the paths behind a step named `step`.
  static std::vector<std::string_view> below(const std::vector<std::string_view>& paths,
                                             std::string_view step) {
    std::vector<std::string_view> left;
    for (const std::string_view path : paths) {
      const size_t dot = std::min(path.find('.'), path.size());
      if (path.empty()) {
        left.push_back(path);
      } else if (path.substr(0, dot) == step) {
        left.push_back(path.substr(std::min(dot + 1, path.size())));
      }
    }
    return left;
  }

  Runtime& runtime_;

 public:
  static std::vector<std::string_view> paths_of(const std::vector<std::string>& trusted,
                                                std::string_view name) {
    return below({trusted.begin(), trusted.end()}, name);
  }
};

}  // namespace

Value from_json(Runtime& runtime, const boost::json::value& json, std::string_view name) {
  return Converter(runtime).convert(json, Converter::paths_of(runtime.options.trusted, name));
}

}  // namespace windrow::jinja
