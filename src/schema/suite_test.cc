// The JSON Schema test suite, the required tests of drafts 4 to 2020-12 (tests/json_schema_suite)
// and those of formats (as Debian packages them): what it says is valid is valid, what it says is
// not is not, and what cannot be judged is refused for a known reason.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "schema/validator.h"

namespace windrow::schema {
namespace {

namespace json = boost::json;
namespace fs = std::filesystem;

constexpr std::string_view kSuite = WINDROW_SOURCE_DIR "/tests/json_schema_suite";
constexpr std::string_view kDebianSuite = "/usr/share/json-schema-test-suite/tests";

// Why a schema may be refused: other documents, none of which is fetched, and targets that only the
// value decides.
constexpr std::string_view kReasons[] = {"is in another document", "refers to nothing",
                                         "depending on what leads here"};

// Tests of what the standard leaves open, which is judged here: formats, and vocabularies.
constexpr std::string_view kJudgedHere[] = {
    "is only an annotation by default", "no validation: invalid number, but it still validates"};

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
        draft.starts_with("draft20")
            ? fmt::format("https://json-schema.org/draft/{}/schema", draft.substr(5))
            : fmt::format("http://json-schema.org/draft-0{}/schema#", draft.substr(5));
  return schema;
}

struct Counts {
  int right = 0;
  int refused = 0;  // schemas
};

void run_group(const json::object& group, const std::string& file, std::string_view draft,
               Counts& counts) {
  const std::string name = fmt::format("{} {}: {}", draft, file, text(group.at("description")));
  const Result<Validator> validator =
      Validator::compile(with_dialect(group.at("schema"), draft), {});
  if (!validator) {
    const std::string& message = validator.error().message;
    EXPECT_TRUE(std::ranges::any_of(
        kReasons,
        [&](std::string_view reason) { return message.find(reason) != std::string::npos; }))
        << name << ": " << message;
    ++counts.refused;
    return;
  }
  for (const json::value& one : group.at("tests").as_array()) {
    const json::object& test = one.as_object();
    const std::string what = text(test.at("description"));
    // Which letters an idn-hostname may have is in tables of Unicode, which are not here.
    const bool needs_tables = what.find("invalid idn-hostname") != std::string::npos;
    const bool judged_here =
        !needs_tables && std::ranges::any_of(kJudgedHere, [&](std::string_view words) {
          return what.ends_with(words);
        });
    const std::string data = json::serialize(test.at("data"));
    const std::optional<Violation> violation = validator.value().check(data);
    EXPECT_EQ(!violation.has_value(), test.at("valid").as_bool() && !judged_here)
        << name << ": " << what << ": " << data << " by " << json::serialize(group.at("schema"))
        << ": " << (violation ? violation->message : "");
    ++counts.right;
  }
}

void run_file(const fs::path& path, std::string_view draft, Counts& counts) {
  const json::value groups = read(path);
  for (const json::value& group : groups.as_array())
    run_group(group.as_object(), path.filename().string(), draft, counts);
}

Counts run_draft(std::string_view draft) {
  Counts counts;
  for (const fs::directory_entry& entry : fs::directory_iterator(fs::path(kSuite) / draft)) {
    if (entry.path().extension() == ".json") run_file(entry.path(), draft, counts);
  }
  ::testing::Test::RecordProperty("judged", counts.right);
  return counts;
}

TEST(Suite, EveryDraftIsJudgedAsItSays) {
  struct Expected {
    std::string_view draft;
    int right;
    int refused;
  };
  for (const auto& [draft, right, refused] :
       {Expected{"draft4", 597, 10}, Expected{"draft6", 812, 13}, Expected{"draft7", 900, 13},
        Expected{"draft2019-09", 1220, 19}, Expected{"draft2020-12", 1240, 26}}) {
    const Counts counts = run_draft(draft);
    EXPECT_EQ(counts.right, right) << draft;
    EXPECT_EQ(counts.refused, refused) << draft;
  }
}

TEST(Suite, FormatsOfDraft7) {
  const fs::path folder = fs::path(kDebianSuite) / "draft7" / "optional" / "format";
  ASSERT_TRUE(fs::is_directory(folder)) << folder << " is not there: run ./setup --tests";
  Counts counts;
  for (const char* format : {"date", "date-time", "email", "hostname", "ipv4", "ipv6", "time",
                             "uri", "uri-reference", "uri-template", "iri", "iri-reference",
                             "json-pointer", "relative-json-pointer", "regex", "idn-email"})
    run_file(folder / (std::string(format) + ".json"), "draft7", counts);
  EXPECT_EQ(counts.refused, 0);
  EXPECT_EQ(counts.right, 118);
}

}  // namespace
}  // namespace windrow::schema
