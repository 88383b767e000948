// Resources: the possible targets of $ref in one schema document: places by JSON pointer, schemas
// with an $id, and anchors. Nothing outside of the document is ever fetched. Immutable, any thread.
#pragma once

#include <boost/json/value.hpp>
#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/unordered/unordered_flat_set.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace windrow::schema {

// How the versions of the standard differ here.
enum class Dialect : uint8_t {
  kDraft04,         // `id` instead of `$id`; exclusiveMinimum and exclusiveMaximum are booleans
  kReferenceAlone,  // up to draft 07, draft 04 included: siblings of $ref are ignored
  kReferenceBeside,
};

// The version that `$schema` of a document names, without its scheme and an empty fragment; "" if
// there is none.
std::string_view draft_name(const boost::json::value& root);
Dialect dialect_of(std::string_view draft_name);

class Resources {
 public:
  struct Place {
    const boost::json::value* schema = nullptr;
    std::string pointer;  // from the root of the document
  };

  // `root` outlives this, and the caller has checked its depth. kInvalid: an invalid $id or
  // $anchor, or one that two schemas have. In draft 04, where schemas are often copied with their
  // ids, only a reference to such an id is an error.
  static Result<Resources> collect(const boost::json::value& root, Dialect dialect);

  // The target of `reference` in `from`, a schema of the document. kInvalid: it is not in the
  // document.
  Result<Place> find(std::string_view reference, const boost::json::value& from) const;

  // The target of a $dynamicRef or $recursiveRef, where it is the same whatever schemas lead to
  // it. kInvalid: it is not in the document, or depends on what leads to it.
  Result<Place> find_dynamic(std::string_view keyword, std::string_view reference,
                             const boost::json::value& from) const;

  // Whether it is the value of a keyword that contains schemas, so that its $id and $anchor count.
  bool knows(const boost::json::value& schema) const { return bases_.contains(&schema); }

 private:
  Result<void> visit(const boost::json::value& schema, const std::string& pointer,
                     std::string base);
  Result<void> name(const std::string& uri, const boost::json::value& schema,
                    const std::string& pointer);

  // A schema whose name is found from outside of its document.
  struct Dynamic {
    std::string anchor;  // "": of $recursiveAnchor
    std::string base;    // the URI of the document
    Place place;
  };
  Result<Place> outermost(std::string_view anchor, const Place& first) const;

  Dialect dialect_ = Dialect::kReferenceBeside;
  std::string root_base_;
  std::vector<Dynamic> dynamic_;
  boost::unordered_flat_map<std::string, Place> by_uri_;  // with "#anchor" where there is one
  boost::unordered_flat_map<const boost::json::value*, std::string> bases_;
  boost::unordered_flat_set<std::string> ambiguous_;  // URIs that several schemas have
};

}  // namespace windrow::schema
