#include "batches/batch_json.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <string>
#include <utility>
#include <vector>

namespace windrow::batches {
namespace {

namespace json = boost::json;

std::variant<BatchRequest, llm::Failure> read(const std::string& body) {
  return read_batch_request(json::parse(body).as_object());
}

std::string with(const std::string& members) {
  return R"({"input_file_id":"file-1","endpoint":"/v1/embeddings","completion_window":"24h")" +
         members + "}";
}

TEST(BatchRequest, SaysWhatIsAsked) {
  EXPECT_EQ(std::get<BatchRequest>(read(with(""))),
            (BatchRequest{.input_file_id = "file-1", .endpoint = llm::Endpoint::kEmbeddings}));
  const auto all = read(
      R"({"input_file_id":"file-1","endpoint":"/v1/chat/completions","completion_window":"2h",
          "metadata":{"a":"b"},"output_expires_after":{"anchor":"created_at","seconds":3600}})");
  EXPECT_EQ(std::get<BatchRequest>(all), (BatchRequest{.input_file_id = "file-1",
                                                       .window_s = 7200,
                                                       .metadata = {{"a", "b"}},
                                                       .output_expires_after_s = 3600}));
  EXPECT_EQ(std::get<BatchRequest>(read(with(R"(,"metadata":null,"output_expires_after":null)"))),
            std::get<BatchRequest>(read(with(""))));
}

TEST(BatchRequest, EveryFaultNamesItsField) {
  std::string pairs;
  for (int i = 0; i < 17; ++i)
    pairs += fmt::format(R"({}"k{}":"v")", i == 0 ? "" : ",", i);
  const std::string long_key(65, 'k');
  const std::string long_value(513, 'v');
  for (const auto& [body, param] : std::vector<std::pair<std::string, std::string>>{
           {R"({"endpoint":"/v1/embeddings"})", "input_file_id"},
           {R"({"input_file_id":5,"endpoint":"/v1/embeddings"})", "input_file_id"},
           {R"({"input_file_id":"f"})", "endpoint"},
           {R"({"input_file_id":"f","endpoint":"/v1/responses"})", "endpoint"},
           {with(R"(,"completion_window":"1d")"), "completion_window"},
           {with(R"(,"model":"m")"), "model"},
           {with(R"(,"metadata":[])"), "metadata"},
           {with(R"(,"metadata":{)" + pairs + "}"), "metadata"},
           {with(R"(,"metadata":{"a":1})"), "metadata.a"},
           {with(R"(,"metadata":{")" + long_key + R"(":"v"})"), "metadata." + long_key},
           {with(R"(,"metadata":{"a":")" + long_value + R"("})"), "metadata.a"},
           {with(R"(,"output_expires_after":3600)"), "output_expires_after"},
           {with(R"(,"output_expires_after":{"seconds":3600})"), "output_expires_after.anchor"},
           {with(R"(,"output_expires_after":{"anchor":"created_at","seconds":3599})"),
            "output_expires_after.seconds"}}) {
    const auto outcome = read(body);
    const auto* failure = std::get_if<llm::Failure>(&outcome);
    ASSERT_NE(failure, nullptr) << body;
    EXPECT_EQ(failure->status, 400);
    EXPECT_TRUE(failure->param.starts_with(param.substr(0, 40))) << failure->param;
    EXPECT_NE(failure->message, "");
  }
}

// Limits count characters, as people do.
TEST(BatchRequest, MetadataCountsCharacters) {
  std::string value;
  for (int i = 0; i < 512; ++i)
    value += "\xC3\xA4";
  EXPECT_TRUE(
      std::holds_alternative<BatchRequest>(read(with(R"(,"metadata":{"a":")" + value + R"("})"))));
}

TEST(BatchRequest, WindowsAreHours) {
  EXPECT_EQ(window_of("24h"), 86'400);
  EXPECT_EQ(window_of("1h"), 3600);
  EXPECT_EQ(window_of("8760h"), 8760 * 3600);
  for (const char* text : {"", "h", "24", "0h", "-1h", "8761h", "1.5h", "24 h", "24H", "1d"})
    EXPECT_FALSE(window_of(text)) << text;
  EXPECT_EQ(window_text(86'400), "24h");
}

}  // namespace

}  // namespace windrow::batches
