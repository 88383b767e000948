// References: the targets of the references in a schema: JSON pointers, anchors, and identifiers of
// its own parts. Nothing is ever fetched. Pure.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/result.h"
#include "grammar/lexeme/give_up.h"
#include "grammar/schema/drafts.h"

namespace windrow::grammar {

// Escapes a name for a step of a JSON pointer: "a/b~c" -> "a~1b~0c".
std::string pointer_step(std::string_view name);

// Resolves `reference` against `base` (RFC 3986, as far as identifiers of schemas need it). Both
// have no fragment.
std::string resolve_uri(std::string_view base, std::string_view reference);

class References {
 public:
  // A part of the schema with an identifier of its own, against which references in it are
  // resolved.
  using Resource = uint32_t;
  static constexpr Resource kRoot = 0;

  struct Target {
    const boost::json::value* value = nullptr;
    std::string pointer;
    Resource resource = kRoot;
  };

  // `root` outlives this. kInvalid: two schemas have the same identifier. In draft 04, where
  // schemas are often copied with their identifiers, only a reference to it is an error.
  // kUnavailable: `give_up` returned true.
  static Result<References> collect(const boost::json::value& root, Draft draft = Draft::k2020,
                                    const GiveUp& give_up = {});

  // Whether the identifier of this part counts. Identifiers in values, and in members that are not
  // keywords, do not.
  bool is_named(const boost::json::value& part) const { return named_.contains(&part); }

  // The resource of a part of the schema whose parent is in `outer`.
  Resource resource_of(const boost::json::value& part, Resource outer) const;

  // kInvalid: the target is not in this schema.
  Result<Target> find(std::string_view reference, Resource from) const;

  // The target of a $dynamicRef or $recursiveRef, if it is the same whichever schemas lead to it:
  // then it is a $ref in other words. kInvalid: the target is not in this schema, or depends on
  // what leads here.
  Result<Target> find_dynamic(std::string_view keyword, std::string_view reference,
                              Resource from) const;

  // Whether a reference leads into this member of the root: then it is a container of definitions,
  // whatever its name.
  bool leads_into(std::string_view root_member) const;

 private:
  struct Known {
    std::string uri;
    const boost::json::value* value = nullptr;
    std::string pointer;
  };

  explicit References(Draft draft) : draft_(draft) {}

  Result<void> look_through(Target from, bool named, const GiveUp& give_up);
  void read_names(Target& place, const boost::json::object& object);
  void add_anchor(const Target& place, std::string_view name);
  void note_duplicate(const Target& place, std::string_view name, std::string_view other,
                      const std::string& full);
  Result<Target> outermost(const std::vector<Target>& targets, std::string_view keyword,
                           std::string_view anchor, std::string_view advice) const;
  Result<Target> walk(const Known& from, Resource resource, std::string_view pointer,
                      std::string_view reference) const;

  Draft draft_;
  std::vector<Known> resources_;
  std::unordered_map<const boost::json::value*, Resource> resource_at_;
  std::unordered_map<std::string, Target> anchors_;               // "uri#name"
  std::unordered_map<std::string, std::vector<Target>> dynamic_;  // $dynamicAnchor, by name
  std::vector<Target> recursive_;  // resources with "$recursiveAnchor": true
  std::unordered_set<const boost::json::value*> seen_;
  std::unordered_set<const boost::json::value*> named_;
  std::vector<std::pair<std::string, Resource>> references_;  // all in the schema
  std::set<std::string, std::less<>> first_steps_;  // members of the root that they lead into
  std::optional<Error> duplicate_;
  std::unordered_set<std::string> ambiguous_;  // draft 04: identifiers and "uri#name"
};

}  // namespace windrow::grammar
