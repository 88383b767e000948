#include "memory/retain/retain_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace windrow::memory {
namespace {

using ::testing::HasSubstr;

RetainItem item(std::string content) {
  return {.content = std::move(content)};
}

llm::Failure fault(const std::vector<RetainItem>& items) {
  return fault_of(items).value_or(llm::Failure{.status = 0});
}

TEST(RetainRules, AContentIsNamedWithItsPlace) {
  EXPECT_EQ(fault_of({item("a"), item("b")}), std::nullopt);
  EXPECT_EQ(fault({item("a"), item(" \n ")}).message,
            "items[1].content is empty; write what is to be remembered");
  EXPECT_EQ(fault({item("a"), item("")}).param, "items[1].content");
  EXPECT_EQ(fault({item("a"), item("")}).status, 400);
  EXPECT_THAT(fault({item(std::string(kContentBytesMax + 1, 'x'))}).message,
              HasSubstr("items[0].content has 4000001 bytes; at most 4000000 are taken"));
  EXPECT_THAT(fault({item("\xFF")}).message, HasSubstr("is not UTF-8"));
}

TEST(RetainRules, TooManyTagsForAllCombinations) {
  RetainItem many = item("a");
  std::vector<std::string> tags;
  for (size_t i = 0; i <= kCombinedTagsMax; ++i)
    tags.push_back(std::to_string(i));
  many.tags = Tags(tags);
  EXPECT_EQ(fault_of({many}), std::nullopt);
  many.scopes.kind = ScopeKind::kAllCombinations;
  EXPECT_THAT(fault({many}).message, HasSubstr("items[0].tags are 9; with the observation_scopes"));
}

TEST(RetainRules, ItemsOfOneDocumentHaveOneUpdateMode) {
  RetainItem one = item("a");
  RetainItem other = item("b");
  one.document_id = other.document_id = "notes";
  EXPECT_EQ(fault_of({one, other}), std::nullopt);
  other.update = DocumentUpdate::kAppend;
  EXPECT_EQ(fault({one, other}).param, "items[1].update_mode");
  other.document_id = "others";
  EXPECT_EQ(fault_of({one, other}), std::nullopt);
}

TEST(RetainRules, AFactIsNoObservation) {
  RetainItem wrong = item("a");
  wrong.type = MemoryType::kObservation;
  EXPECT_EQ(fault({wrong}).param, "items[0].type");
}

// By mode: whether facts are extracted with a chat model, without one, and while it is unreachable.
TEST(RetainRules, TheModeDecidesWhetherAModelExtracts) {
  const llm::Failure none = {.status = 400, .message = "start with --memory-model NAME"};
  const llm::Failure passing = {.failure_class = llm::FailureClass::kTransient, .status = 503};
  const auto mode = [](std::string name) {
    BankConfig config;
    config.retain_extraction_mode = std::move(name);
    return config;
  };
  for (const char* name : {"verbatim", "chunks"}) {
    EXPECT_FALSE(std::get<bool>(extracts(mode(name), std::nullopt)));
    EXPECT_FALSE(std::get<bool>(extracts(mode(name), none)));
    EXPECT_FALSE(std::get<bool>(extracts(mode(name), passing)));
  }
  for (const char* name : {"concise", "verbose"}) {
    EXPECT_TRUE(std::get<bool>(extracts(mode(name), std::nullopt)));
    const auto refused = std::get<llm::Failure>(extracts(mode(name), none));
    EXPECT_EQ(refused.status, 400);
    EXPECT_EQ(refused.param, "retain_extraction_mode");
    EXPECT_THAT(refused.message, HasSubstr("start with --memory-model NAME; or set"));
    EXPECT_EQ(std::get<llm::Failure>(extracts(mode(name), passing)).status, 503);
  }
  EXPECT_TRUE(std::get<bool>(extracts(mode("auto"), std::nullopt)));
  EXPECT_FALSE(std::get<bool>(extracts(mode("auto"), none)));
  EXPECT_EQ(std::get<llm::Failure>(extracts(mode("auto"), passing)).status, 503);
}

}  // namespace
}  // namespace windrow::memory
