// ObjectReader: the members of one object of a body. Whoever knows a member takes it out; what is
// left is refused by name. Pure.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "llm/field_values.h"

namespace windrow::api {

class ObjectReader {
 public:
  // `object` outlives it. `place` is where it stands, for messages: "input[2]".
  ObjectReader(std::string place, const boost::json::object& object);

  const std::string& place() const { return place_; }
  std::string place(std::string_view member) const;

  // nullptr: it is absent or null.
  const boost::json::value* take(std::string_view member);

  // They may be there, whatever they say.
  void skip(std::initializer_list<std::string_view> members);

  // A string that must be there.
  llm::Problem need(std::string_view member, std::string& target);

  // What is there beside what was taken: "input[2].x is not supported; `has`".
  llm::Problem rest(std::string_view has) const;

 private:
  std::string place_;
  const boost::json::object& object_;
  std::vector<std::string_view> taken_;
};

// What is of another kind than an object is refused: "`place` must be `wanted`, not a string".
llm::Problem read_object(const boost::json::value& value, std::string_view place,
                         std::string_view wanted, const boost::json::object*& object);

}  // namespace windrow::api
