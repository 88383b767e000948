#include "grammar/schema/references.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

namespace windrow::grammar {
namespace {

namespace json = boost::json;

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

std::string percent_decoded(std::string_view text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size()) {
      const int high = hex_digit(text[i + 1]);
      const int low = hex_digit(text[i + 2]);
      if (high >= 0 && low >= 0) {
        result += static_cast<char>(high * 16 + low);
        i += 2;
        continue;
      }
    }
    result += text[i];
  }
  return result;
}

std::string plain_step(std::string_view step) {
  std::string result;
  for (size_t i = 0; i < step.size(); ++i) {
    const bool escape =
        step[i] == '~' && i + 1 < step.size() && (step[i + 1] == '0' || step[i + 1] == '1');
    result += !escape ? step[i] : step[++i] == '0' ? '~' : '/';
  }
  return result;
}

std::pair<std::string_view, std::optional<std::string_view>> split_fragment(
    std::string_view reference) {
  const size_t hash = reference.find('#');
  if (hash == std::string_view::npos) return {reference, std::nullopt};
  return {reference.substr(0, hash), reference.substr(hash + 1)};
}

// The length of "scheme:", or 0.
size_t scheme_length(std::string_view uri) {
  size_t at = 0;
  while (at < uri.size() && (std::isalnum(static_cast<unsigned char>(uri[at])) != 0 ||
                             uri[at] == '+' || uri[at] == '-' || uri[at] == '.')) {
    ++at;
  }
  return at > 0 && at < uri.size() && uri[at] == ':' ? at + 1 : 0;
}

std::string without_dots(std::string_view path) {
  std::vector<std::string_view> steps;
  bool folder = false;  // the path ends in one
  for (size_t at = 0; at <= path.size();) {
    const size_t slash = std::min(path.find('/', at), path.size());
    const std::string_view step = path.substr(at, slash - at);
    folder = step == "." || step == "..";
    if (step == "..") {
      if (steps.size() > 1) steps.pop_back();
    } else if (step != ".") {
      steps.push_back(step);
    }
    at = slash + 1;
  }
  if (folder) steps.emplace_back();
  std::string result;
  for (size_t i = 0; i < steps.size(); ++i) {
    if (i > 0) result += '/';
    result += steps[i];
  }
  return result;
}

// What holds values, not schemas.
bool holds_values(std::string_view keyword) {
  return keyword == "enum" || keyword == "const" || keyword == "default" || keyword == "examples" ||
         keyword == "example";
}

}  // namespace

std::string pointer_step(std::string_view name) {
  std::string result;
  for (const char c : name) {
    if (c == '~') {
      result += "~0";
    } else if (c == '/') {
      result += "~1";
    } else {
      result += c;
    }
  }
  return result;
}

std::string resolve_uri(std::string_view base, std::string_view reference) {
  if (reference.empty()) return std::string(base);
  const size_t scheme = scheme_length(base);
  if (scheme_length(reference) > 0) return std::string(reference);
  if (reference.starts_with("//")) return std::string(base.substr(0, scheme)) += reference;
  size_t path = scheme;
  if (base.substr(path).starts_with("//")) path = std::min(base.find('/', path + 2), base.size());
  const std::string_view host = base.substr(0, path);
  if (reference.starts_with('/')) return std::string(host) + without_dots(reference);
  const size_t slash = base.rfind('/');
  std::string folder;
  if (slash != std::string_view::npos && slash >= path) {
    folder = base.substr(path, slash - path + 1);
  } else if (!host.empty()) {
    folder = "/";
  }
  return std::string(host) + without_dots(folder + std::string(reference));
}

References::References(const json::value& root) {
  look_through(root);
}

void References::look_through(const json::value& root) {
  struct Place {
    const json::value* value;
    std::string pointer;
    Resource resource;
  };
  resources_.push_back({"", &root, "#"});
  resource_at_[&root] = kRoot;
  std::vector<Place> open{{&root, "#", kRoot}};
  while (!open.empty()) {
    Place place = std::move(open.back());
    open.pop_back();
    if (const json::array* array = place.value->if_array()) {
      for (size_t i = 0; i < array->size(); ++i) {
        open.push_back({&(*array)[i], fmt::format("{}/{}", place.pointer, i), place.resource});
      }
      continue;
    }
    const json::object* object = place.value->if_object();
    if (object == nullptr) continue;
    if (const json::value* id = object->if_contains("$id"); id != nullptr && id->is_string()) {
      const auto [uri, fragment] = split_fragment(id->get_string());
      if (place.value == &root) {
        resources_[kRoot].uri = uri;
      } else if (!uri.empty()) {
        resources_.push_back(
            {resolve_uri(resources_[place.resource].uri, uri), place.value, place.pointer});
        place.resource = static_cast<Resource>(resources_.size() - 1);
        resource_at_[place.value] = place.resource;
      }
      if (fragment && !fragment->empty()) {
        anchors_.try_emplace(fmt::format("{}#{}", resources_[place.resource].uri, *fragment),
                             Target{place.value, place.pointer, place.resource});
      }
    }
    for (const auto* name : {"$anchor", "$dynamicAnchor"}) {
      const json::value* anchor = object->if_contains(name);
      if (anchor == nullptr || !anchor->is_string()) continue;
      anchors_.try_emplace(fmt::format("{}#{}", resources_[place.resource].uri,
                                       std::string_view(anchor->get_string())),
                           Target{place.value, place.pointer, place.resource});
    }
    if (const json::value* ref = object->if_contains("$ref"); ref != nullptr && ref->is_string()) {
      const std::string_view text = ref->get_string();
      if (text.starts_with("#/")) {
        first_steps_.push_back(plain_step(percent_decoded(text.substr(2, text.find('/', 2) - 2))));
      }
    }
    for (const auto& [name, member] : *object) {
      if (holds_values(name) && !member.is_object()) continue;
      open.push_back({&member, place.pointer + "/" + pointer_step(name), place.resource});
    }
  }
}

References::Resource References::resource_of(const json::value& part, Resource outer) const {
  const auto found = resource_at_.find(&part);
  return found == resource_at_.end() ? outer : found->second;
}

bool References::leads_into(std::string_view root_member) const {
  return std::ranges::find(first_steps_, root_member) != first_steps_.end();
}

Result<References::Target> References::find(std::string_view reference, Resource from) const {
  const auto [relative, fragment] = split_fragment(reference);
  const std::string uri = resolve_uri(resources_[from].uri, relative);
  const std::string anchor = percent_decoded(fragment.value_or(""));
  if (!anchor.empty() && !anchor.starts_with('/')) {
    const auto found = anchors_.find(fmt::format("{}#{}", uri, anchor));
    if (found != anchors_.end()) return found->second;
    return Error{ErrorKind::kInvalid, fmt::format("no $anchor of this schema is called \"{}\"; "
                                                  "write \"#/$defs/...\" for a path in it",
                                                  reference)};
  }
  // Of several with one name the innermost that asks wins: it is what it was written in.
  const auto named = relative.empty() ? resources_.begin() + from
                                      : std::ranges::find(resources_, uri, &Known::uri);
  if (named == resources_.end()) {
    return Error{ErrorKind::kInvalid,
                 fmt::format("\"{}\" is not in this schema, and nothing is fetched; copy what it "
                             "means into \"$defs\" and refer to \"#/$defs/NAME\"",
                             reference)};
  }
  return walk(*named, static_cast<Resource>(named - resources_.begin()), anchor, reference);
}

Result<References::Target> References::walk(const Known& from, Resource resource,
                                            std::string_view pointer,
                                            std::string_view reference) const {
  Target at{from.value, from.pointer, resource};
  for (size_t slash = 0; slash < pointer.size();) {
    const size_t end = std::min(pointer.find('/', slash + 1), pointer.size());
    const std::string step = plain_step(pointer.substr(slash + 1, end - slash - 1));
    slash = end;
    const json::value* next = nullptr;
    if (const json::object* object = at.value->if_object()) {
      next = object->if_contains(step);
    } else if (const json::array* array = at.value->if_array()) {
      size_t index = 0;
      bool number = !step.empty() && step.size() < 9;
      for (const char c : step) {
        number = number && c >= '0' && c <= '9';
        if (number) index = index * 10 + static_cast<size_t>(c - '0');
      }
      if (number && index < array->size()) next = &(*array)[index];
    }
    if (next == nullptr) {
      return Error{ErrorKind::kInvalid,
                   fmt::format("\"{}\" leads nowhere: there is no \"{}\" at {}", reference, step,
                               at.pointer)};
    }
    at = {next, at.pointer + "/" + pointer_step(step), resource_of(*next, at.resource)};
  }
  return at;
}

}  // namespace windrow::grammar
