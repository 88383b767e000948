// Values of keywords, read from the JSON of a schema. What is not of the kind that a keyword wants
// is thrown as a Refusal, with the place; it never leaves compile_program.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "schema/decimal.h"
#include "schema/value.h"

namespace windrow::schema {

struct Refusal {
  std::string pointer;
  std::string what;
};

const boost::json::object& object_of(const boost::json::value& value, const std::string& at);
std::vector<std::string> names_of(const boost::json::value& value, const std::string& at);
Decimal number_of(const boost::json::value& value, const std::string& at);
uint64_t count_of(const boost::json::value& value, const std::string& at);
bool flag_of(const boost::json::value& value, const std::string& at);
Value value_of(const boost::json::value& value, const std::string& at);

// Bits of Node::types, of one name or a list of names.
uint8_t types_of(const boost::json::value& value, const std::string& at);

}  // namespace windrow::schema
