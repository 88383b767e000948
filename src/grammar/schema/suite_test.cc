// The JSON Schema test suite, required tests, drafts 4 to 2020-12: what is invalid never gets
// through, and nearly all that is valid does. Instances are written compactly and in definition
// order; what is invalid is tried in every order of its members.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <boost/json/parse.hpp>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/schema/json_values.h"
#include "grammar/schema/testing/definition_order.h"
#include "grammar/schema/testing/schema_language.h"

namespace windrow::grammar {
namespace {

namespace json = boost::json;
namespace fs = std::filesystem;
using testing::SchemaLanguage;

constexpr size_t kOrdersMax = 2'000;

constexpr std::string_view kSuite = WINDROW_SOURCE_DIR "/tests/json_schema_suite";

struct Draft {
  std::string_view folder;
  std::string_view name;  // of $schema
};
constexpr auto kDrafts = std::to_array<Draft>({
    {"draft4", "http://json-schema.org/draft-04/schema#"},
    {"draft6", "http://json-schema.org/draft-06/schema#"},
    {"draft7", "http://json-schema.org/draft-07/schema#"},
    {"draft2019-09", "https://json-schema.org/draft/2019-09/schema"},
    {"draft2020-12", "https://json-schema.org/draft/2020-12/schema"},
});

// Schemas of drafts up to 7 do not say of which they are; the folder does.
json::value of_draft(json::value schema, const Draft& draft) {
  json::object* object = schema.if_object();
  if (object != nullptr && !object->contains("$schema")) (*object)["$schema"] = draft.name;
  return schema;
}

struct Count {
  size_t compiled = 0;  // schemas
  size_t refused = 0;
  size_t valid = 0;  // instances of what compiled
  size_t valid_in_another_order = 0;
  size_t valid_rejected = 0;
  size_t invalid = 0;
  size_t invalid_accepted = 0;
};

std::ostream& operator<<(std::ostream& out, const Count& count) {
  return out << count.compiled << " schemas compiled, " << count.refused << " refused; "
             << count.valid << " valid accepted, " << count.valid_in_another_order
             << " in another order, " << count.valid_rejected << " rejected; " << count.invalid
             << " invalid rejected, " << count.invalid_accepted << " accepted";
}

class SuiteTest : public ::testing::TestWithParam<bool> {
 protected:
  Count run_draft(const Draft& draft) {
    Count count;
    std::vector<fs::path> paths;
    for (const auto& entry : fs::directory_iterator(fs::path(kSuite) / draft.folder)) {
      if (entry.path().extension() == ".json") paths.push_back(entry.path());
    }
    std::ranges::sort(paths);
    for (const fs::path& path : paths) {
      std::ifstream file(path);
      std::stringstream text;
      text << file.rdbuf();
      const json::value groups = json::parse(text.str());
      for (const json::value& group : groups.as_array())
        run_group(draft, path.filename().string(), group.as_object(), count);
    }
    return count;
  }

  void run_group(const Draft& draft, const std::string& file, const json::object& group,
                 Count& count) {
    const json::value schema = of_draft(group.at("schema"), draft);
    const std::string where = std::string(draft.folder) + "/" + file + ": " +
                              std::string(group.at("description").as_string());
    const SchemaLanguage language(schema, {.open = GetParam()});
    const SchemaLanguage any(schema, {.open = GetParam(), .property_order = PropertyOrder::kAny});
    const bool nothing = language.error().starts_with("no value is valid");
    if (!language.made() && !nothing) {
      EXPECT_TRUE(language.error().starts_with("at #")) << where << ": " << language.error();
      ++count.refused;
      notes_.push_back("refused: " + where + ": " + language.error());
      return;
    }
    ++count.compiled;
    for (const json::value& test : group.at("tests").as_array()) {
      const std::string name = where + ": " + std::string(test.at("description").as_string());
      const json::value& data = test.at("data");
      const std::string text = compact_json(testing::in_definition_order(schema, data));
      const bool accepted = language.made() && language.has(text);
      const bool in_some_order = accepted || (language.made() && has_some_order(language, data));
      if (any.made() && accepted) {
        EXPECT_TRUE(any.has(text)) << "in any order: " << name;
      } else if (any.made() && !test.at("valid").as_bool()) {
        EXPECT_FALSE(has_some_order(any, data)) << "in any order: " << name;
      }
      if (!test.at("valid").as_bool()) {
        ++(in_some_order ? count.invalid_accepted : count.invalid);
        EXPECT_FALSE(in_some_order) << "invalid accepted: " << name << " " << text;
      } else if (accepted) {
        ++count.valid;
      } else {
        ++(in_some_order ? count.valid_in_another_order : count.valid_rejected);
        notes_.push_back((in_some_order ? "another order: " : "valid rejected: ") + name + " " +
                         text + (nothing ? " " + language.error() : ""));
      }
    }
  }

  static bool has_some_order(const SchemaLanguage& language, const json::value& data) {
    return std::ranges::any_of(testing::texts_in_any_order(data, kOrdersMax),
                               [&](const std::string& text) { return language.has(text); });
  }

  std::vector<std::string> notes_;
};

TEST_P(SuiteTest, NothingInvalidIsAccepted) {
  const bool open = GetParam();
  std::ostringstream report;
  report << "JSON Schema test suite, "
         << (open ? "open properties" : "closed properties (the default)") << "\n";
  for (const Draft& draft : kDrafts) {
    const Count count = run_draft(draft);
    report << "  " << draft.folder << ": " << count << "\n";
    EXPECT_EQ(count.invalid_accepted, 0U) << draft.folder;
    EXPECT_GT(count.compiled, 100U) << draft.folder;
    if (!open) continue;
    EXPECT_LE(count.refused * 5, count.compiled) << draft.folder;
    EXPECT_LE((count.valid_rejected + count.valid_in_another_order) * 20, count.valid)
        << draft.folder;
  }
  for (const std::string& note : notes_) {
    if (open) report << "  " << note << "\n";
  }
  std::cout << report.str();  // tidy-allow print: how much of the suite passes is to be seen
}

INSTANTIATE_TEST_SUITE_P(Properties, SuiteTest, ::testing::Values(true, false),
                         [](const auto& test) { return test.param ? "Open" : "Default"; });

}  // namespace
}  // namespace windrow::grammar
