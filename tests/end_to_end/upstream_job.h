// UpstreamJob: a test's job folder with rows for upstream servers, and the commands that run them.
#pragma once

#include <gtest/gtest.h>

#include <boost/json/object.hpp>
#include <set>
#include <string>
#include <vector>

#include "end_to_end/job_folder.h"
#include "end_to_end/process.h"

namespace windrow::end_to_end {

// Flags for quick answers of a few words.
inline Words quick(Words more = {}) {
  more.insert(more.begin(), {"--token-ms", "1", "--answer-tokens", "4"});
  return more;
}

inline Words job(const std::vector<std::string>& urls, Words more = {}) {
  Words words{"run", "requests.jsonl", "-o", "results.jsonl"};
  for (const std::string& url : urls)
    words.insert(words.end(), {"--upstream", url});
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// Rows that each ask for their own number.
inline std::string rows(int count, const boost::json::object& body = {}) {
  std::string text;
  for (int i = 0; i < count; ++i)
    text += chat_line("row-" + std::to_string(i), "number " + std::to_string(i), body);
  return text;
}

inline std::string content_of(const LogLine& line) {
  return std::string(line.json.at("response")
                         .at("body")
                         .at("choices")
                         .at(0)
                         .at("message")
                         .at("content")
                         .as_string());
}

class UpstreamJob : public ::testing::Test {
 protected:
  // For a finished job: every row was answered once, by its own answer.
  void expect_own_answers(int count) const {
    std::set<std::string> ids;
    for (const LogLine& line : read_log(folder_, "results.jsonl")) {
      const std::string id(line.json.at("custom_id").as_string());
      EXPECT_TRUE(ids.insert(id).second) << id << " is there twice";
      EXPECT_EQ(content_of(line), "number " + id.substr(4));
    }
    EXPECT_EQ(ids.size(), static_cast<size_t>(count));
  }

  JobFolder folder_;
};

}  // namespace windrow::end_to_end
