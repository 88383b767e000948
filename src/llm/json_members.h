// The members of JSON objects as the slices of text they were written in: for what is passed on or
// hashed as it came, where parsing and writing again would alter numbers. Pure; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace windrow::llm {

struct JsonMember {
  std::string_view key;    // as written, with its quotes
  std::string_view value;  // as written, without white space around it
};

// `text` is a JSON object that a parser has accepted. On other text the result means nothing, but
// nothing outside the text is read and it ends.
std::vector<JsonMember> json_members(std::string_view text);

// The elements of a JSON array that a parser has accepted, as written; with other text as above.
std::vector<std::string_view> json_elements(std::string_view text);

// Whether a key, as written, means `name`: "b\u006fdy" means body.
bool json_key_is(std::string_view key, std::string_view name);

// The value of the last member of that name, as a parser would have it; empty where there is none.
std::string_view json_member(const std::vector<JsonMember>& members, std::string_view name);

// The text of a JSON value without the white space outside its strings.
std::string json_without_space(std::string_view value);
void append_without_space(std::string_view value, std::string& text);

}  // namespace windrow::llm
