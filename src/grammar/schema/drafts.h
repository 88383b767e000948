// The versions of JSON Schema, as `$schema` names them. Pure.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <optional>
#include <string_view>

namespace windrow::grammar {

enum class Draft : uint8_t { k04, k06, k07, k2019, k2020 };

// What a schema is read by: the newest where it names none. Nothing: it names one that is not
// known.
std::optional<Draft> draft_of(const boost::json::value& root);

// Whether it names one before draft 04, whose keywords for demands (extends, disallow) are none of
// later drafts.
bool names_old_draft(const boost::json::value& root);

// Up to draft 07 what stands beside `$ref` has no effect.
bool reference_stands_alone(Draft draft, const boost::json::object& schema);

// The identifier of a schema and the name of its keyword: `$id`; in draft 04 it was `id`.
struct Identifier {
  std::string_view keyword;
  std::string_view text;
};
std::optional<Identifier> identifier_of(Draft draft, const boost::json::object& schema);

}  // namespace windrow::grammar
