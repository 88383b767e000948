// The JSON Schema test suite as Debian packages it: no text that it calls invalid is ever accepted,
// and the valid ones that are refused are listed by name.
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "grammar/lexeme/formats.h"

namespace windrow::grammar {
namespace {

namespace json = boost::json;
namespace fs = std::filesystem;

const fs::path kFormats = "/usr/share/json-schema-test-suite/tests/draft7/optional/format";

json::value read(const fs::path& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file) << path << " is missing: ./setup --tests installs it";
  return json::parse(std::string(std::istreambuf_iterator<char>(file), {}));
}

std::string string_of(const json::value& value) {
  return std::string(value.as_string());
}

TEST(FormatSuite, NoInvalidTextIsAccepted) {
  // Valid, but left out: formats.h says why.
  const std::set<std::string> left_out = {
      "date-time: case-insensitive T and Z",
      "hostname: a valid punycoded IDN hostname",
  };
  int right = 0;
  int refused = 0;
  for (const std::string& format : known_formats()) {
    const fs::path path = kFormats / (format + ".json");
    // These are younger than the draft or of others.
    if (format == "uuid" || format == "duration" || format == "byte") continue;
    const json::value groups = read(path);
    for (const json::value& group : groups.as_array()) {
      for (const json::value& test : group.at("tests").as_array()) {
        if (!test.at("data").is_string()) continue;
        const std::string text = string_of(test.at("data"));
        const bool accepted = format_dfa(format)->contains(text);
        const bool valid = test.at("valid").as_bool();
        const std::string name = format + ": " + string_of(test.at("description"));
        if (valid && !accepted) {
          EXPECT_TRUE(left_out.contains(name)) << name << ": " << text;
          ++refused;
          continue;
        }
        EXPECT_EQ(accepted, valid) << name << ": " << text;
        ++right;
      }
    }
  }
  RecordProperty("right", right);
  RecordProperty("refused", refused);
  EXPECT_GE(right, 100);
}

}  // namespace
}  // namespace windrow::grammar
