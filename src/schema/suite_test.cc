// The JSON Schema test suite as Debian packages it: what it says is valid is valid, what it says is
// not is not, and what cannot be judged is refused by name, from a list.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "schema/validator.h"

namespace windrow::schema {
namespace {

namespace json = boost::json;
namespace fs = std::filesystem;

constexpr std::string_view kSuite = "/usr/share/json-schema-test-suite/tests";

// Of other documents, none of which is fetched.
const std::set<std::string> kRemoteFiles = {"refRemote.json"};

// "file: description" of schemas that are refused: they refer to the schema of schemas.
const std::set<std::string> kRefused = {
    "definitions.json: invalid definition",
    "definitions.json: valid definition",
    "ref.json: remote ref, containing refs itself",
};

json::value read(const fs::path& path) {
  std::ifstream file(path);
  return json::parse(std::string(std::istreambuf_iterator<char>(file), {}));
}

std::string text(const json::value& value) {
  return std::string(value.as_string());
}

// The suite's schemas do not say of which draft they are; the folder does.
json::value with_dialect(json::value schema, std::string_view draft) {
  if (json::object* object = schema.if_object(); object != nullptr && !object->contains("$schema"))
    (*object)["$schema"] =
        fmt::format("http://json-schema.org/{}/schema#", draft == "draft4"   ? "draft-04"
                                                         : draft == "draft6" ? "draft-06"
                                                                             : "draft-07");
  return schema;
}

struct Counts {
  int right = 0;
  int refused = 0;
};

void run_group(const json::object& group, const std::string& file, std::string_view draft,
               Counts& counts, std::set<std::string>& refused) {
  const std::string name = fmt::format("{}: {}", file, text(group.at("description")));
  const json::array& tests = group.at("tests").as_array();
  const Result<Validator> validator =
      Validator::compile(with_dialect(group.at("schema"), draft), {});
  if (!validator) {
    EXPECT_TRUE(kRefused.contains(name)) << name << ": " << validator.error().message;
    refused.insert(name);
    counts.refused += static_cast<int>(tests.size());
    return;
  }
  for (const json::value& one : tests) {
    const json::object& test = one.as_object();
    const std::string data = json::serialize(test.at("data"));
    const std::optional<Violation> violation = validator.value().check(data);
    EXPECT_EQ(!violation.has_value(), test.at("valid").as_bool())
        << draft << " " << name << ": " << text(test.at("description")) << ": " << data << " by "
        << json::serialize(group.at("schema")) << ": " << (violation ? violation->message : "");
    ++counts.right;
  }
}

// What is optional there: the formats that are judged here.
void run_formats(std::string_view draft, const std::vector<std::string>& formats, int right) {
  Counts counts;
  std::set<std::string> refused;
  for (const std::string& format : formats) {
    const fs::path path = fs::path(kSuite) / draft / "optional" / "format" / (format + ".json");
    const json::value groups = read(path);
    for (const json::value& group : groups.as_array())
      run_group(group.as_object(), format, draft, counts, refused);
  }
  EXPECT_TRUE(refused.empty());
  EXPECT_EQ(counts.right, right);
}

void run_draft(std::string_view draft, int right, int refused_tests) {
  const fs::path folder = fs::path(kSuite) / draft;
  ASSERT_TRUE(fs::is_directory(folder)) << folder << " is not there: run ./setup --tests";
  Counts counts;
  std::set<std::string> refused;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::string file = entry.path().filename().string();
    if (entry.path().extension() != ".json" || kRemoteFiles.contains(file)) continue;
    const json::value groups = read(entry.path());
    for (const json::value& group : groups.as_array())
      run_group(group.as_object(), file, draft, counts, refused);
  }
  testing::Test::RecordProperty("judged", counts.right);
  EXPECT_EQ(refused, kRefused);
  EXPECT_EQ(counts.right, right);
  EXPECT_EQ(counts.refused, refused_tests);
}

TEST(Suite, Draft6) {
  run_draft("draft6", 386, 4);
}
TEST(Suite, Draft7) {
  run_draft("draft7", 404, 4);
}

TEST(Suite, Draft4) {
  run_draft("draft4", 301, 4);
}

TEST(Suite, FormatsOfDraft7) {
  run_formats("draft7",
              {"date", "date-time", "email", "hostname", "ipv4", "ipv6", "time", "uri",
               "uri-reference", "uri-template", "iri", "iri-reference", "json-pointer",
               "relative-json-pointer", "regex", "idn-email"},
              118);
}

}  // namespace
}  // namespace windrow::schema
