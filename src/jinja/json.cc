#include "jinja/json.h"

#include <algorithm>
#include <cmath>

#include "base/utf8.h"
#include "jinja/failure.h"
#include "jinja/number.h"
#include "jinja/runtime.h"
#include "jinja/unicode.h"

namespace windrow::jinja {
namespace {

class Converter {
 public:
  explicit Converter(Runtime& runtime) : runtime_(runtime) {}

  // `trusted`: the rest of the paths that lead here; an empty one means that the value is trusted.
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

  // The rest of the paths after a step named `step`.
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

namespace {

class JsonWriter {
 public:
  JsonWriter(Runtime& runtime, const JsonStyle& style)
      : runtime_(runtime), style_(style), out_(runtime.budget) {}

  TextPtr run(const Value& value) {
    write(value, Origin::kTemplate);
    return out_.finish();
  }

 private:
  // `origin`: that of the container of the value.
  void write(const Value& value, Origin holder) {
    runtime_.budget.check_stack();
    runtime_.budget.spend(1);
    const Origin origin = value.origin() == Origin::kInput ? Origin::kInput : holder;
    switch (value.kind()) {
      case Value::Kind::kNone:
        return out_.append("null", origin);
      case Value::Kind::kBool:
        return out_.append(value.boolean() ? "true" : "false", origin);
      case Value::Kind::kInteger:
        return out_.append(integer_text(value.integral()), origin);
      case Value::Kind::kFloat:
        return out_.append(number(value.number()), origin);
      case Value::Kind::kText:
        return write_text(*value.text());
      case Value::Kind::kList:
        return write_list(value.list());
      case Value::Kind::kDict:
        return write_dict(value.dict());
      default:
        break;
    }
    if (value.is_undefined()) fail("{}, so it is nothing for JSON", describe(value.undefined()));
    fail("'{}' object is nothing for JSON", type_name(value));
  }

  static std::string number(double value) {
    if (std::isnan(value)) return "NaN";
    if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
    return float_text(value);
  }

  std::string escape(char32_t c) const {
    switch (c) {
      case '"':
        return "\\\"";
      case '\\':
        return "\\\\";
      case '\n':
        return "\\n";
      case '\r':
        return "\\r";
      case '\t':
        return "\\t";
      case '\f':
        return "\\f";
      case '\b':
        return "\\b";
      default:
        break;
    }
    if (c >= 0x20 && (c < 0x7F || !style_.ensure_ascii)) return {};
    if (c == 0x7F) return {};
    const auto code = static_cast<uint32_t>(c);
    if (code < 0x10000) return fmt::format("\\u{:04x}", code);
    return fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + ((code - 0x10000) >> 10),
                       0xDC00 + ((code - 0x10000) & 0x3FF));
  }

  void write_text(const Text& text) {
    const std::string& bytes = text.bytes();
    out_.append("\"", text.origin_at(0));
    size_t plain = 0;
    for (size_t at = 0; at < bytes.size();) {
      const size_t begin = at;
      const auto byte = static_cast<unsigned char>(bytes[at]);
      if (byte >= 0x20 && byte < 0x80 && byte != '"' && byte != '\\') {
        ++at;
        continue;
      }
      const std::string escaped = escape(next_character(bytes, at));
      if (escaped.empty()) continue;
      out_.append(text, plain, begin);
      out_.append(escaped, text.origin_at(begin));
      plain = at;
    }
    out_.append(text, plain, bytes.size());
    out_.append("\"", text.origin_at(bytes.empty() ? 0 : bytes.size() - 1));
  }

  void line_break(Origin origin) {
    if (!style_.indent) return;
    out_.append("\n", origin);
    for (int i = 0; i < level_; ++i)
      out_.append(*style_.indent, origin);
  }

  void write_list(const List& list) {
    const Origin origin = list.origin();
    if (list.items().empty()) return out_.append("[]", origin);
    out_.append("[", origin);
    ++level_;
    bool first = true;
    for (const Value& item : list.items()) {
      if (!first) out_.append(style_.item_separator, origin);
      first = false;
      line_break(origin);
      write(item, origin);
    }
    --level_;
    line_break(origin);
    out_.append("]", origin);
  }

  void write_key(const Value& key, Origin origin) {
    if (key.is_text()) return write_text(*key.text());
    std::string text;
    if (key.is_none()) {
      text = "null";
    } else if (key.is(Value::Kind::kBool)) {
      text = key.boolean() ? "true" : "false";
    } else if (key.is_integral()) {
      text = integer_text(key.integral());
    } else if (key.is_number()) {
      text = number(key.number());
    } else {
      fail("'{}' is nothing for a key in JSON", type_name(key));
    }
    out_.append("\"" + text + "\"", origin);
  }

  void write_dict(const Dict& dict) {
    const Origin origin = dict.origin();
    if (dict.entries().empty()) return out_.append("{}", origin);
    const auto& entries = dict.entries();
    const std::vector<size_t> order = stable_order(entries.size(), [&](size_t a, size_t b) {
      return style_.sort_keys && runtime_.is_less(entries[a].first, entries[b].first);
    });
    out_.append("{", origin);
    ++level_;
    bool first = true;
    for (const size_t i : order) {
      if (!first) out_.append(style_.item_separator, origin);
      first = false;
      line_break(origin);
      write_key(entries[i].first, origin);
      out_.append(style_.key_separator, origin);
      write(entries[i].second, origin);
    }
    --level_;
    line_break(origin);
    out_.append("}", origin);
  }

  Runtime& runtime_;
  const JsonStyle& style_;
  TextBuilder out_;
  int level_ = 0;
};

}  // namespace

TextPtr to_json(Runtime& runtime, const Value& value, const JsonStyle& style) {
  return JsonWriter(runtime, style).run(value);
}

}  // namespace windrow::jinja
