// The members of JSON objects as slices of the text they were written in: for bodies that are
// passed on or hashed as they came, where parsing and writing again would alter numbers. Pure; any
// thread.
//
// The functions expect text that a parser has accepted. On any other text they read nothing outside
// it and return, but the result means nothing.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace windrow {

struct JsonMember {
  std::string_view key;    // as written, with its quotes
  std::string_view value;  // as written, without white space around it
};

// The members of an object, in its order. They point into `text`.
std::vector<JsonMember> json_members(std::string_view text);

// The elements of an array, in its order. They point into `text`.
std::vector<std::string_view> json_elements(std::string_view text);

// Whether a key, as written, means `name`: "b\u006fdy" means body.
bool json_key_is(std::string_view key, std::string_view name);

// The value of the last member of that name, which is the one a parser keeps; empty where there is
// none.
std::string_view json_member(const std::vector<JsonMember>& members, std::string_view name);

// A value without the white space outside its strings.
std::string json_without_space(std::string_view value);
void append_json_without_space(std::string_view value, std::string& text);

}  // namespace windrow
