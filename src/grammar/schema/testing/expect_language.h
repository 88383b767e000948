// For tests with GoogleTest: which texts the grammar of a schema has.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "grammar/schema/testing/schema_language.h"

namespace windrow::grammar::testing {

// Expects that the schema has a grammar, which has the texts of `in` and none of `out`.
inline void expect_language(const std::string& schema, const std::vector<std::string>& in,
                            const std::vector<std::string>& out,
                            const SchemaOptions& options = {}) {
  SCOPED_TRACE(schema);
  const SchemaLanguage language(schema, options);
  ASSERT_TRUE(language.made()) << language.error();
  for (const std::string& text : in)
    EXPECT_TRUE(language.has(text)) << text;
  for (const std::string& text : out)
    EXPECT_FALSE(language.has(text)) << text;
}

}  // namespace windrow::grammar::testing
