#include "structured/schema_json.h"

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>

namespace windrow::structured {
namespace {

namespace json = boost::json;

class Writer {
 public:
  Writer(const SchemaCase& schema, bool closed) : schema_(schema), closed_(closed) {}

  json::object all() {
    json::object object;
    if (!closed_ && schema_.draft7) object["$schema"] = "http://json-schema.org/draft-07/schema#";
    for (auto& [key, value] : written(*schema_.root))
      object[key] = std::move(value);
    if (!schema_.definitions.empty()) {
      json::object definitions;
      for (const Definition& definition : schema_.definitions)
        definitions[definition.name] = written(*definition.shape);
      object[definitions_name()] = std::move(definitions);
    }
    return object;
  }

 private:
  bool old_spelling() const { return schema_.draft7 && !closed_; }
  const char* definitions_name() const { return old_spelling() ? "definitions" : "$defs"; }

  json::object written(const Shape& shape) {
    json::object object = without_null(shape);
    if (shape.nullable == Nullable::kAnyOf) {
      json::object either;
      either["anyOf"] = json::array{std::move(object), json::object{{"type", "null"}}};
      object = std::move(either);
    } else if (shape.nullable != Nullable::kNo) {
      json::value& type = object["type"];
      if (shape.nullable == Nullable::kTypeList || closed_) {
        type = json::array{type, "null"};
      } else {
        object["nullable"] = true;
      }
    }
    if (!shape.title.empty()) object["title"] = shape.title;
    if (!shape.description.empty()) object["description"] = shape.description;
    if (shape.annotated) {
      object["$comment"] = "reviewed";
      object["examples"] = json::array{1, "two", nullptr};
      // Words of other vocabularies.
      if (!closed_) {
        object["unit"] = "km";
        object["readonly"] = true;
        object["_format"] = "house-number";
        object["links"] = json::array{json::object{{"rel", "self"}}};
        if (!object.contains("format")) object["format"] = "house-number";
      }
    }
    return object;
  }

  json::object without_null(const Shape& shape) {
    switch (shape.kind) {
      case Kind::kObject:
        return object_schema(shape, true);
      case Kind::kArray:
        return array_schema(shape);
      case Kind::kString:
        return string_schema(shape);
      case Kind::kInteger:
      case Kind::kNumber:
        return number_schema(shape);
      case Kind::kBoolean:
        return {{"type", "boolean"}};
      case Kind::kNull:
        return {{"type", "null"}};
      case Kind::kValues:
        return values_schema(shape);
      case Kind::kEither: {
        json::array parts;
        for (const ShapePtr& part : shape.parts)
          parts.push_back(written(*part));
        return {{shape.one_of ? "oneOf" : "anyOf", std::move(parts)}};
      }
      case Kind::kAll: {
        json::array parts;
        for (const ShapePtr& part : shape.parts)
          parts.push_back(closed_ ? object_schema(schema_.resolve(*part), false) : written(*part));
        json::object all{{"allOf", std::move(parts)}};
        if (closed_) all["unevaluatedProperties"] = false;
        return all;
      }
      case Kind::kReference:
        return reference(shape);
      case Kind::kAnything:
        return {};
    }
    return {};
  }

  // `ends`: with additionalProperties.
  json::object object_schema(const Shape& shape, bool ends) {
    json::object object{{"type", "object"}};
    json::array required;
    if (!shape.members.empty()) {
      json::object properties;
      for (const Member& member : shape.members) {
        properties[member.name] = written(*member.shape);
        if (member.required) required.emplace_back(member.name);
      }
      object["properties"] = std::move(properties);
    }
    if (!required.empty()) object["required"] = std::move(required);
    if (!shape.patterns.empty()) {
      json::object patterns;
      for (const NamePattern& pattern : shape.patterns)
        patterns[pattern.names.regex()] = written(*pattern.shape);
      object["patternProperties"] = std::move(patterns);
    }
    if (!ends) return object;
    if (shape.additional) {
      const bool any = shape.additional->kind == Kind::kAnything;
      object["additionalProperties"] =
          any ? json::value(true) : json::value(written(*shape.additional));
    } else if (closed_ || shape.annotated) {
      object["additionalProperties"] = false;
    }
    return object;
  }

  json::object array_schema(const Shape& shape) {
    json::object object{{"type", "array"}};
    json::value items = shape.items ? json::value(written(*shape.items)) : json::value(false);
    if (shape.first_items.empty()) {
      object["items"] = std::move(items);
    } else {
      json::array first;
      for (const ShapePtr& item : shape.first_items)
        first.push_back(written(*item));
      object[old_spelling() ? "items" : "prefixItems"] = std::move(first);
      object[old_spelling() ? "additionalItems" : "items"] = std::move(items);
    }
    if (shape.size_min > 0) object["minItems"] = shape.size_min;
    if (shape.size_max) object["maxItems"] = *shape.size_max;
    return object;
  }

  static json::object string_schema(const Shape& shape) {
    json::object sizes;
    if (shape.size_min > 0) sizes["minLength"] = shape.size_min;
    if (shape.size_max) sizes["maxLength"] = *shape.size_max;
    json::object object{{"type", "string"}};
    if (shape.pattern) object["pattern"] = shape.pattern->regex();
    if (!shape.format.empty()) object["format"] = shape.format;
    if (shape.split) {
      sizes["type"] = "string";
      return {{"allOf", json::array{std::move(object), std::move(sizes)}}};
    }
    for (auto& [key, value] : sizes)
      object[key] = std::move(value);
    return object;
  }

  static json::object number_schema(const Shape& shape) {
    json::object object{{"type", shape.kind == Kind::kInteger ? "integer" : "number"}};
    if (shape.min) {
      object[shape.min_excluded ? "exclusiveMinimum" : "minimum"] = json::parse(shape.min->text());
    }
    if (shape.max) {
      object[shape.max_excluded ? "exclusiveMaximum" : "maximum"] = json::parse(shape.max->text());
    }
    if (shape.multiple_of != 0) object["multipleOf"] = shape.multiple_of;
    return object;
  }

  static json::object values_schema(const Shape& shape) {
    if (shape.is_const) return {{"const", json::parse(shape.values.front())}};
    json::array values;
    bool strings = true;
    for (const std::string& value : shape.values) {
      values.push_back(json::parse(value));
      strings = strings && value.front() == '"';
    }
    json::object object;
    if (strings && values.size() % 2 == 0) object["type"] = "string";
    object["enum"] = std::move(values);
    return object;
  }

  json::object reference(const Shape& shape) const {
    const std::string to = shape.definition.empty()
                               ? "#"
                               : std::string("#/") + definitions_name() + "/" + shape.definition;
    json::object object{{"$ref", to}};
    if (!shape.wrapped) return object;
    return {{"allOf", json::array{std::move(object)}}};
  }

  const SchemaCase& schema_;
  bool closed_;
};

}  // namespace

json::object written_schema(const SchemaCase& schema) {
  return Writer(schema, false).all();
}
json::object closed_schema(const SchemaCase& schema) {
  return Writer(schema, true).all();
}

}  // namespace windrow::structured
