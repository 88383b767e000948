#include "schema/resources.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/object.hpp>
#include <charconv>
#include <optional>
#include <utility>

#include "schema/keywords.h"
#include "schema/text_scanner.h"
#include "schema/uri_reference.h"

namespace windrow::schema {
namespace {

namespace json = boost::json;

// Of a document that does not say where it lives.
constexpr std::string_view kNowhere = "schema:/";

Error invalid(const std::string& pointer, std::string_view what) {
  return Error{ErrorKind::kInvalid, fmt::format("at #{}: {}", pointer, what)};
}

// Undoes pointer_step; nothing where a "~" has neither 0 nor 1 behind it.
std::optional<std::string> unescaped(std::string_view step) {
  std::string out;
  for (size_t i = 0; i < step.size(); ++i) {
    if (step[i] != '~') {
      out += step[i];
    } else if (i + 1 < step.size() && (step[i + 1] == '0' || step[i + 1] == '1')) {
      out += step[++i] == '0' ? '~' : '/';
    } else {
      return std::nullopt;
    }
  }
  return out;
}

const json::value* step_into(const json::value& value, std::string_view step) {
  if (const json::object* object = value.if_object()) return object->if_contains(step);
  const json::array* array = value.if_array();
  if (array == nullptr || step.empty() || !std::all_of(step.begin(), step.end(), is_digit))
    return nullptr;
  size_t index = 0;
  if (std::from_chars(step.data(), step.data() + step.size(), index).ec != std::errc{})
    return nullptr;
  return array->if_contains(index);
}

// Behind `start`, which is "" or begins with a slash.
std::optional<Resources::Place> follow(const Resources::Place& start, std::string_view pointer) {
  Resources::Place place = start;
  while (!pointer.empty()) {
    if (pointer.front() != '/') return std::nullopt;
    pointer.remove_prefix(1);
    const size_t end = std::min(pointer.find('/'), pointer.size());
    const std::optional<std::string> step = unescaped(pointer.substr(0, end));
    if (!step) return std::nullopt;
    place.schema = step_into(*place.schema, *step);
    if (place.schema == nullptr) return std::nullopt;
    place.pointer += pointer_step(*step);
    pointer.remove_prefix(end);
  }
  return place;
}

}  // namespace

Result<Resources> Resources::collect(const json::value& root, Dialect dialect) {
  Resources resources;
  resources.dialect_ = dialect;
  resources.by_uri_.emplace(std::string(kNowhere), Place{&root, ""});
  if (Result<void> visited = resources.visit(root, "", std::string(kNowhere)); !visited)
    return visited.error();
  return resources;
}

Result<void> Resources::visit(const json::value& schema, const std::string& pointer,
                              std::string base) {
  const json::object* object = schema.if_object();
  if (object == nullptr) return {};
  const bool alone = dialect_ != Dialect::kReferenceBeside && object->contains("$ref");
  const json::value* id = alone ? nullptr : object->if_contains("$id");
  const json::value* old_id =
      alone || dialect_ != Dialect::kDraft04 ? nullptr : object->if_contains("id");
  if (old_id != nullptr && old_id->is_string()) id = old_id;
  if (id != nullptr) {
    if (!id->is_string()) return invalid(pointer + "/$id", "must be a string");
    const std::string_view text = id->get_string();
    base = resolve_uri(base, text);
    const std::string_view fragment = fragment_of(text);
    // Up to draft-07 "#name" was how an anchor was set.
    const bool anchor_only = text.starts_with('#');
    if (!anchor_only) {
      if (Result<void> named = name(base, schema, pointer + "/$id"); !named) return named;
    }
    if (!fragment.empty()) {
      Result<void> named = name(fmt::format("{}#{}", base, fragment), schema, pointer + "/$id");
      if (!named) return named;
    }
  }
  if (const json::value* anchor = alone ? nullptr : object->if_contains("$anchor")) {
    if (!anchor->is_string()) return invalid(pointer + "/$anchor", "must be a string");
    const std::string_view text = anchor->get_string();
    Result<void> named = name(fmt::format("{}#{}", base, text), schema, pointer + "/$anchor");
    if (!named) return named;
  }
  bases_.emplace(&schema, base);
  Result<void> result;
  for_each_subschema(*object, pointer, [&](const json::value& child, const std::string& at) {
    if (result) result = visit(child, at, base);
  });
  return result;
}

Result<void> Resources::name(const std::string& uri, const json::value& schema,
                             const std::string& pointer) {
  // The pointer of the schema itself: without its last step.
  Place place{&schema, pointer.substr(0, pointer.rfind('/'))};
  const auto [entry, is_new] = by_uri_.emplace(uri, std::move(place));
  if (is_new || entry->second.schema == &schema) return {};
  if (dialect_ != Dialect::kDraft04)
    return invalid(pointer, fmt::format("{} has the same name", entry->second.pointer));
  ambiguous_.insert(uri);
  return {};
}

Result<Resources::Place> Resources::find(std::string_view reference,
                                         const json::value& from) const {
  const auto base = bases_.find(&from);
  const std::string uri = resolve_uri(base == bases_.end() ? kNowhere : base->second, reference);
  const auto document = by_uri_.find(uri);
  if (document == by_uri_.end()) {
    return Error{ErrorKind::kInvalid,
                 fmt::format("\"{}\" is in another document, and none is fetched", reference)};
  }
  const std::optional<std::string> fragment = percent_decoded(fragment_of(reference));
  const bool whole = !reference.starts_with('#') && ambiguous_.contains(uri);
  if (whole || (fragment && ambiguous_.contains(fmt::format("{}#{}", uri, *fragment)))) {
    return Error{ErrorKind::kInvalid,
                 fmt::format("\"{}\" is the name of several schemas", reference)};
  }
  if (fragment && (fragment->empty() || fragment->front() == '/')) {
    if (std::optional<Place> place = follow(document->second, *fragment)) return *std::move(place);
  } else if (fragment) {
    const auto anchor = by_uri_.find(fmt::format("{}#{}", uri, *fragment));
    if (anchor != by_uri_.end()) return anchor->second;
  }
  return Error{ErrorKind::kInvalid, fmt::format("\"{}\" refers to nothing", reference)};
}

}  // namespace windrow::schema
