// A set of JSON values, by what they mean: asked and joined in time that grows with what is in it,
// not with the product. Pure.
#pragma once

#include <boost/json/value.hpp>
#include <string>
#include <unordered_set>
#include <vector>

namespace windrow::grammar {

class ValueSet {
 public:
  explicit ValueSet(const std::vector<const boost::json::value*>& values);

  // Whether same_value() holds for one of them.
  bool contains(const boost::json::value& value) const;
  bool has_common(const ValueSet& other) const;

  // Those of `values` that are in the set, in their order.
  void keep_common(std::vector<const boost::json::value*>& values) const;

 private:
  std::unordered_set<std::string> keys_;
};

}  // namespace windrow::grammar
