#include "grammar/schema/references.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <utility>

#include "base/text_encoding.h"

namespace windrow::grammar {
namespace {

namespace json = boost::json;

constexpr size_t kReferencesBetweenQuestions = 1'000;
constexpr size_t kBytesBetweenQuestions = 1'000'000;
constexpr size_t kEachAsMuchAs = 200;  // a part of the schema costs as much as so many bytes

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

// The schemas in a keyword's value. Values that are no schemas (const, default, x-...) are skipped:
// an
// "$id" in them identifies nothing.
enum class Holds : uint8_t { kNoSchema, kSchemas, kNames };

constexpr std::string_view kDynamicAnchor = "$dynamicAnchor";

Holds holds(std::string_view keyword) {
  constexpr auto kMaps =
      std::to_array<std::string_view>({"$defs", "definitions", "dependencies", "dependentSchemas",
                                       "patternProperties", "properties"});
  constexpr auto kSchemas = std::to_array<std::string_view>(
      {"additionalItems", "additionalProperties", "allOf", "anyOf", "contains", "else", "if",
       "items", "not", "oneOf", "prefixItems", "propertyNames", "then", "unevaluatedItems",
       "unevaluatedProperties"});
  if (std::ranges::find(kMaps, keyword) != kMaps.end()) return Holds::kNames;
  return std::ranges::find(kSchemas, keyword) != kSchemas.end() ? Holds::kSchemas
                                                                : Holds::kNoSchema;
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

Result<References> References::collect(const json::value& root, Draft draft,
                                       const GiveUp& give_up) {
  References references(draft);
  references.resources_.push_back({"", &root, "#"});
  references.resource_at_[&root] = kRoot;
  Result<void> done = references.look_through({&root, "#", kRoot}, true, give_up);
  if (!done) return done.error();
  // Schemas that only a reference leads to, in a container of another name, may have references
  // too.
  for (size_t i = 0; i < references.references_.size(); ++i) {
    if (i % kReferencesBetweenQuestions == 0) {
      if (Result<void> go_on = ask(give_up); !go_on) return go_on.error();
    }
    const auto [text, from] = references.references_[i];
    const Result<Target> target = references.find(text, from);
    if (!target) continue;  // reported where it is used
    if (target->pointer.size() > 2) {
      const std::string_view steps = std::string_view(target->pointer).substr(2);
      references.first_steps_.insert(plain_step(steps.substr(0, steps.find('/'))));
    }
    if (references.seen_.contains(target->value)) continue;
    done = references.look_through(*target, false, give_up);
    if (!done) return done.error();
  }
  if (references.duplicate_) return *references.duplicate_;
  return references;
}

// All schemas from here on; `named`: they may have identifiers.
Result<void> References::look_through(Target from, bool named, const GiveUp& give_up) {
  std::vector<Target> open{std::move(from)};
  size_t written = 0;  // bytes of pointers since the last question
  const auto add = [&](const json::value& value, std::string pointer, Resource resource) {
    written += kEachAsMuchAs + pointer.size();
    open.push_back({&value, std::move(pointer), resource});
  };
  while (!open.empty()) {
    if (written > kBytesBetweenQuestions) {
      written = 0;
      if (Result<void> go_on = ask(give_up); !go_on) return go_on;
    }
    Target place = std::move(open.back());
    open.pop_back();
    const json::object* object = place.value->if_object();
    if (object == nullptr || !seen_.insert(place.value).second) continue;
    if (named) read_names(place, *object);
    for (const char* keyword : {"$ref", "$dynamicRef", "$recursiveRef"}) {
      const json::value* ref = object->if_contains(keyword);
      if (ref != nullptr && ref->is_string())
        references_.emplace_back(ref->get_string(), place.resource);
    }
    for (const auto& [name, member] : *object) {
      const Holds held = holds(name);
      if (held == Holds::kNoSchema) continue;
      const std::string pointer = place.pointer + "/" + pointer_step(name);
      if (held == Holds::kNames) {
        if (!member.is_object()) continue;
        for (const auto& [key, schema] : member.get_object())
          add(schema, pointer + "/" + pointer_step(key), place.resource);
      } else if (const json::array* many = member.if_array()) {
        for (size_t i = 0; i < many->size(); ++i)
          add((*many)[i], fmt::format("{}/{}", pointer, i), place.resource);
      } else {
        add(member, pointer, place.resource);
      }
    }
  }
  return {};
}

void References::read_names(Target& place, const json::object& object) {
  named_.insert(place.value);
  if (reference_stands_alone(draft_, object)) return;
  if (const auto identifier = identifier_of(draft_, object)) {
    const auto [uri, fragment] = split_fragment(identifier->text);
    if (place.resource == kRoot && place.value == resources_[kRoot].value) {
      resources_[kRoot].uri = uri;
    } else if (!uri.empty()) {
      const std::string full = resolve_uri(resources_[place.resource].uri, uri);
      const auto other = std::ranges::find(resources_, full, &Known::uri);
      if (other != resources_.end()) note_duplicate(place, full, other->pointer, full);
      resources_.push_back({full, place.value, place.pointer});
      place.resource = static_cast<Resource>(resources_.size() - 1);
      resource_at_[place.value] = place.resource;
    }
    if (fragment && !fragment->empty()) add_anchor(place, *fragment);
  }
  for (const std::string_view name : {std::string_view("$anchor"), kDynamicAnchor}) {
    const json::value* anchor = object.if_contains(name);
    if (anchor == nullptr || !anchor->is_string()) continue;
    add_anchor(place, anchor->get_string());
    if (name == kDynamicAnchor) dynamic_[std::string(anchor->get_string())].push_back(place);
  }
  const json::value* recursive = object.if_contains("$recursiveAnchor");
  if (recursive != nullptr && recursive->is_bool() && recursive->get_bool() &&
      resources_[place.resource].value == place.value) {
    recursive_.push_back(place);
  }
}

void References::add_anchor(const Target& place, std::string_view name) {
  std::string full = fmt::format("{}#{}", resources_[place.resource].uri, name);
  const auto [found, is_new] = anchors_.try_emplace(std::move(full), place);
  if (!is_new && found->second.value != place.value) {
    note_duplicate(place, name, found->second.pointer, found->first);
  }
}

void References::note_duplicate(const Target& place, std::string_view name, std::string_view other,
                                const std::string& full) {
  if (draft_ == Draft::k04) {
    ambiguous_.insert(full);
    return;
  }
  if (duplicate_) return;
  duplicate_ =
      Error{ErrorKind::kInvalid,
            fmt::format("at {}: \"{}\" is also the name of {}; give each its own $id or $anchor",
                        place.pointer, name, other)};
}

References::Resource References::resource_of(const json::value& part, Resource outer) const {
  const auto found = resource_at_.find(&part);
  return found == resource_at_.end() ? outer : found->second;
}

bool References::leads_into(std::string_view root_member) const {
  return first_steps_.contains(root_member);
}

Result<References::Target> References::find(std::string_view reference, Resource from) const {
  const auto [relative, fragment] = split_fragment(reference);
  const std::string uri = resolve_uri(resources_[from].uri, relative);
  const std::string anchor = percent_decoded(fragment.value_or(""));
  const std::string full = fmt::format("{}#{}", uri, anchor);
  if (ambiguous_.contains(full) || (!relative.empty() && ambiguous_.contains(uri))) {
    return Error{
        ErrorKind::kInvalid,
        fmt::format("several parts of this schema have the name \"{}\"; give each its own, "
                    "or refer to \"#/definitions/NAME\"",
                    reference)};
  }
  if (!anchor.empty() && !anchor.starts_with('/')) {
    const auto found = anchors_.find(full);
    if (found != anchors_.end()) return found->second;
    return Error{ErrorKind::kInvalid, fmt::format("no $anchor of this schema is called \"{}\"; "
                                                  "write \"#/$defs/...\" for a path in it",
                                                  reference)};
  }
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

Result<References::Target> References::find_dynamic(std::string_view keyword,
                                                    std::string_view reference,
                                                    Resource from) const {
  Result<Target> first = find(reference, from);
  if (!first) return first;
  const json::object* object = first->value->if_object();
  const auto has = [&](std::string_view name, const json::value& value) {
    const json::value* found = object != nullptr ? object->if_contains(name) : nullptr;
    return found != nullptr && *found == value;
  };
  if (keyword == "$recursiveRef") {
    if (reference != "#") return Error{ErrorKind::kInvalid, "$recursiveRef is always \"#\""};
    if (!has("$recursiveAnchor", true)) return first;
    return outermost(recursive_, keyword, "\"$recursiveAnchor\": true", "use $ref");
  }
  const std::string name = percent_decoded(split_fragment(reference).second.value_or(""));
  const auto named = dynamic_.find(name);
  // A name that another keyword gave, and a path, lead where a $ref does.
  if (named == dynamic_.end() || !has(kDynamicAnchor, json::string(name))) return first;
  return outermost(named->second, keyword, fmt::format("the $dynamicAnchor \"{}\"", name),
                   "use $ref and $anchor");
}

// The outermost of the schemas that lead to a place is the target, and the root leads to all.
Result<References::Target> References::outermost(const std::vector<Target>& targets,
                                                 std::string_view keyword, std::string_view anchor,
                                                 std::string_view advice) const {
  const auto in_root = std::ranges::find(targets, kRoot, &Target::resource);
  if (in_root != targets.end()) return *in_root;
  if (targets.size() == 1) return targets.front();
  return Error{ErrorKind::kInvalid,
               fmt::format("\"{}\" cannot be enforced; {} and {} both have {}, and which is meant "
                           "depends on what leads here: {}, or give it to the outermost schema",
                           keyword, targets[0].pointer, targets[1].pointer, anchor, advice)};
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
