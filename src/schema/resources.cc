#include "schema/resources.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/object.hpp>
#include <charconv>
#include <optional>
#include <utility>

#include "schema/format_readers.h"
#include "schema/keywords.h"

namespace windrow::schema {
namespace {

namespace json = boost::json;

// --- references between URIs --------------------------------------------------------------------

struct Parts {
  std::optional<std::string_view> scheme;
  std::optional<std::string_view> authority;
  std::string_view path;
  std::optional<std::string_view> query;
};

// RFC 3986, appendix B, without the fragment.
Parts split(std::string_view text) {
  Parts parts;
  text = text.substr(0, text.find('#'));
  const size_t colon = text.find_first_of(":/?");
  if (colon != std::string_view::npos && text[colon] == ':' && colon > 0) {
    parts.scheme = text.substr(0, colon);
    text.remove_prefix(colon + 1);
  }
  if (text.starts_with("//")) {
    text.remove_prefix(2);
    parts.authority = text.substr(0, text.find_first_of("/?"));
    text.remove_prefix(parts.authority->size());
  }
  const size_t mark = text.find('?');
  parts.path = text.substr(0, mark);
  if (mark != std::string_view::npos) parts.query = text.substr(mark + 1);
  return parts;
}

// RFC 3986, 5.2.4.
std::string without_dots(std::string_view in) {
  std::string out;
  const auto drop_last = [&] {
    const size_t slash = out.rfind('/');
    out.resize(slash == std::string::npos ? 0 : slash);
  };
  while (!in.empty()) {
    if (in.starts_with("../")) {
      in.remove_prefix(3);
    } else if (in.starts_with("./") || in.starts_with("/./")) {
      in.remove_prefix(2);
    } else if (in == "/.") {
      in = "/";
    } else if (in.starts_with("/../")) {
      in.remove_prefix(3);
      drop_last();
    } else if (in == "/..") {
      in = "/";
      drop_last();
    } else if (in == "." || in == "..") {
      in = {};
    } else {
      const size_t next = in.find('/', 1);
      out += in.substr(0, next);
      in.remove_prefix(next == std::string_view::npos ? in.size() : next);
    }
  }
  return out;
}

std::string merged(const Parts& base, std::string_view path) {
  if (base.authority && base.path.empty()) return "/" + std::string(path);
  const size_t slash = base.path.rfind('/');
  if (slash == std::string_view::npos) return std::string(path);
  return std::string(base.path.substr(0, slash + 1)) + std::string(path);
}

// What `reference` means in a document at `base`, without its fragment (RFC 3986, section 5).
std::string resolve_uri(std::string_view base_text, std::string_view reference) {
  const Parts base = split(base_text);
  Parts result = split(reference);
  std::string path;
  if (result.scheme || result.authority) {
    path = without_dots(result.path);
  } else if (result.path.empty()) {
    path = base.path;
    if (!result.query) result.query = base.query;
  } else {
    path = without_dots(result.path.starts_with('/') ? std::string(result.path)
                                                     : merged(base, result.path));
  }
  if (!result.scheme) {
    if (!result.authority) result.authority = base.authority;
    result.scheme = base.scheme;
  }
  std::string text;
  if (result.scheme) (text += *result.scheme) += ':';
  if (result.authority) (text += "//") += *result.authority;
  text += path;
  if (result.query) (text += '?') += *result.query;
  return text;
}

// Empty where there is none.
std::string_view fragment_of(std::string_view reference) {
  const size_t mark = reference.find('#');
  return mark == std::string_view::npos ? std::string_view() : reference.substr(mark + 1);
}

// "%41" becomes "A". Nothing if a "%" has no two hexadecimal digits after it.
std::optional<std::string> percent_decoded(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    if (i + 2 >= text.size() || !is_hex(text[i + 1]) || !is_hex(text[i + 2])) return std::nullopt;
    unsigned value = 0;
    std::from_chars(text.data() + i + 1, text.data() + i + 3, value, 16);
    out += static_cast<char>(value);
    i += 2;
  }
  return out;
}

// --- JSON pointers ------------------------------------------------------------------------------

// The base URI of a document that does not name one.
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

std::string_view draft_name(const json::value& root) {
  const json::object* object = root.if_object();
  const json::value* named = object == nullptr ? nullptr : object->if_contains("$schema");
  if (named == nullptr || !named->is_string()) return {};
  std::string_view name = named->get_string();
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (name.starts_with(scheme)) name.remove_prefix(scheme.size());
  }
  if (name.ends_with('#')) name.remove_suffix(1);
  return name;
}

Dialect dialect_of(std::string_view name) {
  constexpr std::string_view kHost = "json-schema.org/";
  if (name.starts_with(kHost)) {
    name.remove_prefix(kHost.size());
    if (name == "draft-04/schema" || name == "draft-05/schema") return Dialect::kDraft04;
    if (name == "draft-06/schema" || name == "draft-07/schema") return Dialect::kReferenceAlone;
  }
  return Dialect::kReferenceBeside;  // and what is not known is read as the newest
}

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
  if (const json::value* anchor = alone ? nullptr : object->if_contains("$dynamicAnchor")) {
    if (!anchor->is_string()) return invalid(pointer + "/$dynamicAnchor", "must be a string");
    const std::string_view text = anchor->get_string();
    Result<void> named =
        name(fmt::format("{}#{}", base, text), schema, pointer + "/$dynamicAnchor");
    if (!named) return named;
    dynamic_.push_back({std::string(text), base, {&schema, pointer}});
  }
  const bool is_document = pointer.empty() || id != nullptr;
  if (const json::value* anchor = alone ? nullptr : object->if_contains("$recursiveAnchor");
      anchor != nullptr && is_document && anchor->is_bool() && anchor->get_bool()) {
    dynamic_.push_back({"", base, {&schema, pointer}});
  }
  if (pointer.empty()) root_base_ = base;
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

Result<Resources::Place> Resources::find_dynamic(std::string_view keyword,
                                                 std::string_view reference,
                                                 const json::value& from) const {
  Result<Place> first = find(reference, from);
  if (!first) return first;
  const json::object* object = first->schema->if_object();
  if (object == nullptr) return first;
  if (keyword == "$recursiveRef") {
    if (reference != "#") return Error{ErrorKind::kInvalid, "must be \"#\""};
    const json::value* recursive = object->if_contains("$recursiveAnchor");
    const bool leads_on = recursive != nullptr && recursive->is_bool() && recursive->get_bool();
    return leads_on ? outermost("", *first) : first;
  }
  const std::optional<std::string> anchor = percent_decoded(fragment_of(reference));
  const json::value* named = object->if_contains("$dynamicAnchor");
  if (!anchor || named == nullptr || *named != json::string(*anchor)) return first;
  return outermost(*anchor, *first);
}

// Judging begins at the root, so its document is around all others.
Result<Resources::Place> Resources::outermost(std::string_view anchor, const Place& first) const {
  const Place* other = nullptr;
  for (const Dynamic& one : dynamic_) {
    if (one.anchor != anchor) continue;
    if (one.base == root_base_) return one.place;
    if (one.place.schema != first.schema) other = &one.place;
  }
  if (other == nullptr) return first;
  return Error{ErrorKind::kInvalid, fmt::format("means #{} or #{}, depending on what leads here",
                                                first.pointer, other->pointer)};
}

}  // namespace windrow::schema
