// The versions (drafts) of JSON Schema, and how they differ. Pure, any thread.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <optional>
#include <string_view>

namespace windrow::grammar {

enum class Draft : uint8_t { k04, k06, k07, k2019, k2020 };

// The version that `$schema` names; the newest if it is absent; nothing if it is unknown.
std::optional<Draft> draft_of(const boost::json::value& root);

// Whether `$schema` names a version before draft 04, which has keywords that later ones lack
// (extends, disallow).
bool names_old_draft(const boost::json::value& root);

// Whether the siblings of `$ref` in this schema have no effect, as up to draft 07.
bool reference_stands_alone(Draft draft, const boost::json::object& schema);

// The identifier of a schema and its keyword: `$id`, or `id` in draft 04.
struct Identifier {
  std::string_view keyword;
  std::string_view text;
};
std::optional<Identifier> identifier_of(Draft draft, const boost::json::object& schema);

// Whether the draft has this keyword with a value of this type. A keyword that it lacks is enforced
// all the same, and by the standard it would say nothing: so a value that is valid here is valid by
// the standard, too, unless the keyword is in what must not hold.
bool has_keyword(Draft draft, std::string_view name, const boost::json::value& value);

}  // namespace windrow::grammar
