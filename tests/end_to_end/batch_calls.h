// Files and batches of a server, as its clients speak of them.
#pragma once

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <map>
#include <source_location>
#include <string>
#include <string_view>

#include "base/testing/eventually.h"
#include "end_to_end/served.h"

namespace windrow::end_to_end {

inline std::string rows(int count, int output_tokens = 8) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    text += fmt::format(
        R"({{"custom_id":"row-{}","method":"POST","url":"/v1/chat/completions","body":)"
        R"({{"model":"sim","max_tokens":{},"messages":[{{"role":"user","content":"row {}"}}]}}}})"
        "\n",
        i, output_tokens, i);
  }
  return text;
}

inline std::string text_of(const boost::json::value& object, std::string_view member) {
  return std::string(object.at(member).as_string());
}

inline std::string upload(const Served& served, std::string_view bytes, std::string_view key = "") {
  const HttpReply reply = served.upload("requests.jsonl", bytes, key);
  EXPECT_EQ(reply.status, 200) << reply.body;
  return text_of(boost::json::parse(reply.body), "id");
}

inline std::string batch_body(std::string_view file) {
  return fmt::format(
      R"({{"input_file_id":"{}","endpoint":"/v1/chat/completions","completion_window":"24h"}})",
      file);
}

inline std::string create(const Served& served, std::string_view file, std::string_view key = "") {
  const HttpReply reply = served.post("/v1/batches", batch_body(file), key);
  EXPECT_EQ(reply.status, 200) << reply.body;
  return text_of(boost::json::parse(reply.body), "id");
}

inline boost::json::value batch(const Served& served, const std::string& id) {
  return boost::json::parse(served.get("/v1/batches/" + id).body);
}

inline int64_t done(const boost::json::value& batch) {
  return batch.at_pointer("/request_counts/completed").as_int64() +
         batch.at_pointer("/request_counts/failed").as_int64();
}

// Asks for the batch until the condition holds. If it never does, the test fails and shows the last
// reply.
template <class Condition>
inline boost::json::value wait_until(const Served& served, const std::string& id,
                                     const Condition& condition,
                                     std::source_location place = std::source_location::current()) {
  return windrow::testing::eventually([&] { return batch(served, id); },
                                      ::testing::Truly(condition), place);
}

inline boost::json::value wait_for_end(const Served& served, const std::string& id) {
  return wait_until(served, id, [](const boost::json::value& now) {
    const std::string status = text_of(now, "status");
    return status == "completed" || status == "failed" || status == "expired" ||
           status == "cancelled";
  });
}

// custom_id -> how often it is in a file.
inline std::map<std::string, int> names_in(const std::string& lines) {
  std::map<std::string, int> names;
  for (std::string_view left = lines; !left.empty();) {
    const size_t end = left.find('\n');
    ++names[text_of(boost::json::parse(left.substr(0, end)), "custom_id")];
    left.remove_prefix(end + 1);
  }
  return names;
}

}  // namespace windrow::end_to_end
