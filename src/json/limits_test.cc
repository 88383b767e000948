#include "json/limits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json/memory_resource.hpp>
#include <boost/json/parser.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "json/testing/wild_bodies.h"

namespace windrow {
namespace {

namespace json = boost::json;

// Counts the bytes in use, and their maximum.
class CountingMemory final : public json::memory_resource {
 public:
  size_t most() const { return most_; }

 private:
  // The bytes that an allocator adds to each piece, and rounds it up to.
  static constexpr size_t kOverhead = 16;

  void* do_allocate(std::size_t bytes, std::size_t) override {
    taken_ += bytes + kOverhead;
    most_ = std::max(most_, taken_);
    return std::malloc(bytes);
  }
  void do_deallocate(void* at, std::size_t bytes, std::size_t) override {
    taken_ -= bytes + kOverhead;
    std::free(at);
  }
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

  size_t taken_ = 0;
  size_t most_ = 0;
};

size_t values_in(const json::value& value) {
  size_t count = 1;
  if (const json::array* array = value.if_array()) {
    for (const json::value& one : *array)
      count += values_in(one);
  } else if (const json::object* object = value.if_object()) {
    for (const auto& [name, one] : *object)
      count += values_in(one);
  }
  return count;
}

// The maximum of bytes in use while a body is parsed; nothing: it is not JSON.
std::optional<size_t> bytes_to_parse(const std::string& body, json::value* value = nullptr) {
  CountingMemory memory;
  boost::system::error_code error;
  {
    json::parser parser(&memory, {.max_depth = 64});
    parser.reset(&memory);
    parser.write(body.data(), body.size(), error);
    if (error) return std::nullopt;
    const json::value parsed = parser.release();
    if (value != nullptr) *value = json::value(parsed, json::storage_ptr());
  }
  return memory.most();
}

std::string repeated(std::string_view first, std::string_view part, std::string_view last) {
  std::string body(first);
  for (int i = 0; i < 60'000; ++i)
    body += part;
  body += last;
  return body;
}

TEST(JsonWeight, IsAboveWhatAnyShapeTakes) {
  const std::vector<std::string> bodies = {
      repeated("[", "[],", "0]"),
      repeated("[", "{},", "0]"),
      repeated("[", "0,", "0]"),
      repeated("[", "[0],", "0]"),
      repeated("[", R"({"":0},)", "0]"),
      repeated("[", R"({"":{"":{"":[]}}},)", "0]"),
      repeated("[", R"({"a":0,"b":[{},{}]},)", "0]"),
      repeated("[", R"("a text that is too long to be kept in its value",)", "0]"),
      repeated("[", R"("1234567890123456",)", "0]"),
      repeated("[", R"({"a name that is long":"x"},)", "0]"),
      repeated("{", R"("a":0,)", R"("b":0})"),
      "\"" + std::string(3'000'000, 'x') + "\"",
  };
  for (const std::string& body : bodies) {
    json::value value;
    const std::optional<size_t> bytes = bytes_to_parse(body, &value);
    ASSERT_TRUE(bytes) << body.substr(0, 40);
    const size_t values = count_json_values(body);
    // The stack begins with some room.
    EXPECT_GE(json_weight(values, body.size()) + 4096, *bytes) << body.substr(0, 40);
    EXPECT_GE(values, values_in(value)) << body.substr(0, 40);
  }
}

TEST(JsonWeight, CountsWhatIsThereAndNotWhatStandsInTexts) {
  EXPECT_EQ(count_json_values("7"), 1U);
  EXPECT_EQ(count_json_values(R"([1,"a",[]])"), 5U);
  EXPECT_EQ(count_json_values(R"({"a,[{":"\"[,{:\\","b":"]"})"), 5U);
  EXPECT_EQ(count_json_values(std::string(1000, '[')), 1001U);
  EXPECT_EQ(count_json_values("\"\\"), 1U);
}

TEST(JsonWeight, OfWildBodiesIsNeverTooLittle) {
  constexpr uint64_t kSeed = 99;
  SCOPED_TRACE(kSeed);
  testing::WildBodies bodies(kSeed);
  int parsed = 0;
  for (int i = 0; i < 5000; ++i) {
    const std::string body = bodies.next();
    json::value value;
    const std::optional<size_t> bytes = bytes_to_parse(body, &value);
    if (!bytes) continue;
    ++parsed;
    const size_t values = count_json_values(body);
    ASSERT_GE(values, values_in(value)) << body;
    // The stack begins with some room.
    ASSERT_GE(json_weight(values, body.size()) + 4096, *bytes) << body;
  }
  EXPECT_GT(parsed, 500);
}

}  // namespace
}  // namespace windrow
