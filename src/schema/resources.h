// Resources: what $ref can refer to in one schema document: places by JSON pointer, schemas with an
// $id, and anchors. Nothing outside of the document is ever fetched.
#pragma once

#include <boost/json/value.hpp>
#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/unordered/unordered_flat_set.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace windrow::schema {

// What matters of the standard's versions.
enum class Dialect : uint8_t {
  kDraft04,         // `id` is what `$id` became; exclusiveMinimum and exclusiveMaximum are switches
  kReferenceAlone,  // up to draft 07, draft 04 included: what stands beside $ref is ignored
  kReferenceBeside,
};

class Resources {
 public:
  struct Place {
    const boost::json::value* schema = nullptr;
    std::string pointer;  // from the root of the document
  };

  // `root` outlives this, and is nested no deeper than the caller checked. kInvalid for an $id or
  // $anchor that is none, or that two schemas have; names of draft 04, often copied along with what
  // they are in, are only at fault where something refers to them.
  static Result<Resources> collect(const boost::json::value& root, Dialect dialect);

  // What `reference` means in `from`, a schema of the document.
  Result<Place> find(std::string_view reference, const boost::json::value& from) const;

  // Whether it stands where a keyword holds a schema, so that its $id and $anchor count.
  bool knows(const boost::json::value& schema) const { return bases_.contains(&schema); }

 private:
  Result<void> visit(const boost::json::value& schema, const std::string& pointer,
                     std::string base);
  Result<void> name(const std::string& uri, const boost::json::value& schema,
                    const std::string& pointer);

  Dialect dialect_ = Dialect::kReferenceBeside;
  boost::unordered_flat_map<std::string, Place> by_uri_;  // with "#anchor" where there is one
  boost::unordered_flat_map<const boost::json::value*, std::string> bases_;
  boost::unordered_flat_set<std::string> ambiguous_;  // uris that several schemas have
};

}  // namespace windrow::schema
