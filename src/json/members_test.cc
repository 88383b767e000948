#include "json/members.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include "base/random.h"

namespace windrow {
namespace {

namespace json = boost::json;

TEST(JsonMembers, SlicesAreWhatWasWritten) {
  const std::string_view text =
      R"( { "a" : 1.0 , "b":[1, {"c":"]}"}],"d" :"x\"y\\", "e":null,"f":{} } )";
  const std::vector<JsonMember> members = json_members(text);
  ASSERT_EQ(members.size(), 5U);
  EXPECT_EQ(json_member(members, "a"), "1.0");
  EXPECT_EQ(json_member(members, "b"), R"([1, {"c":"]}"}])");
  EXPECT_EQ(json_member(members, "d"), R"("x\"y\\")");
  EXPECT_EQ(json_member(members, "e"), "null");
  EXPECT_EQ(json_member(members, "f"), "{}");
  EXPECT_EQ(json_member(members, "g"), "");
}

TEST(JsonMembers, KeysMayBeEscapedAndTheLastOfOneNameCounts) {
  const std::vector<JsonMember> members = json_members(R"({"b\u006fdy":1,"body":2})");
  EXPECT_TRUE(json_key_is(members.at(0).key, "body"));
  EXPECT_EQ(json_member(members, "body"), "2");
}

TEST(JsonMembers, ElementsAreWhatWasWritten) {
  using Texts = std::vector<std::string_view>;
  EXPECT_EQ(json_elements(R"( [ 1.0 ,"a,]" , [2, 3],{"b":[]},null ] )"),
            (Texts{"1.0", R"("a,]")", "[2, 3]", R"({"b":[]})", "null"}));
  EXPECT_EQ(json_elements("[ ]"), Texts{});
  EXPECT_EQ(json_elements("[1"), Texts{"1"});
}

TEST(JsonMembers, WhiteSpaceInStringsStays) {
  EXPECT_EQ(json_without_space(" { \"a b\" : [ 1 ,\n \" \\\" \" ] } "), R"({"a b":[1," \" "]})");
}

// Random objects, laid out at random: what is cut out parses to the member.
json::value random_value(Random& random, int depth) {
  switch (random.below(depth > 0 ? 6 : 4)) {
    case 0:
      return nullptr;
    case 1:
      return static_cast<int64_t>(random.below(1000)) - 500;
    case 2:
      return random.below(2) == 0;
    case 3: {
      json::string text;
      for (uint64_t i = random.below(6); i > 0; --i)
        text += "a\"\\{}[],: \n"[random.below(11)];
      return text;
    }
    case 4: {
      json::array array;
      for (uint64_t i = random.below(4); i > 0; --i)
        array.push_back(random_value(random, depth - 1));
      return array;
    }
    default: {
      json::object object;
      for (uint64_t i = random.below(4); i > 0; --i)
        object[std::string(1, static_cast<char>('a' + random.below(5)))] =
            random_value(random, depth - 1);
      return object;
    }
  }
}

std::string with_space(std::string_view text, Random& random) {
  std::string result;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char byte = text[i];
    result += byte;
    if (in_string && byte == '\\') {
      result += text[++i];
    } else if (byte == '"') {
      in_string = !in_string;
    }
    if (!in_string && std::string_view("{}[],:").find(byte) != std::string_view::npos)
      result.append(random.below(3), " \n\t"[random.below(3)]);
  }
  return result;
}

TEST(JsonMembers, AgreeWithAParser) {
  constexpr uint64_t kSeed = 20261121;
  Random random(kSeed);
  for (int round = 0; round < 2000; ++round) {
    json::object object;
    for (uint64_t i = random.below(6); i > 0; --i)
      object["k" + std::to_string(i)] = random_value(random, 3);
    const std::string compact = json::serialize(object);
    const std::string text = with_space(compact, random);
    const std::vector<JsonMember> members = json_members(text);
    ASSERT_EQ(members.size(), object.size()) << text << " seed " << kSeed;
    for (const auto& [name, value] : object) {
      const std::string_view slice = json_member(members, name);
      ASSERT_EQ(json::parse(json::string_view(slice.data(), slice.size())), value) << text;
    }
    ASSERT_EQ(json_without_space(text), compact);
  }
}

TEST(JsonMembers, AnyTextEnds) {
  constexpr uint64_t kSeed = 7;
  Random random(kSeed);
  for (int round = 0; round < 5000; ++round) {
    std::string text = "{";
    for (uint64_t i = random.below(30); i > 0; --i)
      text += "{}[]\",:\\ a1"[random.below(11)];
    for (const JsonMember& member : json_members(text)) {
      EXPECT_GE(member.value.data(), text.data());
      EXPECT_LE(member.value.data() + member.value.size(), text.data() + text.size());
    }
    json_without_space(text);
  }
}

}  // namespace
}  // namespace windrow
