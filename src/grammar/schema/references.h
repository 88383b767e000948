// Where the references of a schema lead: JSON pointers, anchors, and identifiers of its own parts.
// Nothing is ever fetched. Pure.
#pragma once

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
#include "grammar/schema/drafts.h"

namespace windrow::grammar {

// "a/b~c" -> "a~1b~0c": a name as a step of a JSON pointer.
std::string pointer_step(std::string_view name);

// `reference` as seen from `base`, by RFC 3986 as far as identifiers of schemas need it. Both
// without a fragment.
std::string resolve_uri(std::string_view base, std::string_view reference);

class References {
 public:
  // A part of the schema with an identifier of its own: what is relative in it is relative to that.
  using Resource = uint32_t;
  static constexpr Resource kRoot = 0;

  struct Target {
    const boost::json::value* value = nullptr;
    std::string pointer;
    Resource resource = kRoot;
  };

  // `root` outlives this. kInvalid: two schemas have one name; in draft 04, whose names are often
  // copied along with what they are in, only a reference to it is at fault.
  static Result<References> collect(const boost::json::value& root, Draft draft = Draft::k2020);

  // Whether an identifier of this part counts: those in values, and in members that are no
  // keywords, do not.
  bool is_named(const boost::json::value& part) const { return named_.contains(&part); }

  // Which resource a part of the schema is in, when what is around it is in `outer`.
  Resource resource_of(const boost::json::value& part, Resource outer) const;

  // kInvalid: it leads nowhere in this schema.
  Result<Target> find(std::string_view reference, Resource from) const;

  // Whether some reference goes through this member of the root: then it is a container, whatever
  // its name.
  bool leads_into(std::string_view root_member) const;

 private:
  struct Known {
    std::string uri;
    const boost::json::value* value = nullptr;
    std::string pointer;
  };

  explicit References(Draft draft) : draft_(draft) {}

  void look_through(Target from, bool named);
  void read_names(Target& place, const boost::json::object& object);
  void add_anchor(const Target& place, std::string_view name);
  void note_twice(const Target& place, std::string_view name, std::string_view other,
                  const std::string& full);
  Result<Target> walk(const Known& from, Resource resource, std::string_view pointer,
                      std::string_view reference) const;

  Draft draft_;
  std::vector<Known> resources_;
  std::unordered_map<const boost::json::value*, Resource> resource_at_;
  std::unordered_map<std::string, Target> anchors_;  // "uri#name"
  std::unordered_set<const boost::json::value*> seen_;
  std::unordered_set<const boost::json::value*> named_;
  std::vector<std::pair<std::string, Resource>> references_;  // all that schemas have, in what
  std::set<std::string, std::less<>> first_steps_;            // from the root, of their targets
  std::optional<Error> twice_;
  std::unordered_set<std::string> ambiguous_;  // in draft 04: identifiers and "uri#name"
};

}  // namespace windrow::grammar
