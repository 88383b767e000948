// Files and batches of `windrow serve` with keys: what one key has is not there for another, by
// whatever way it asks, and an admin's key has all of it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "end_to_end/batch_calls.h"
#include "end_to_end/served.h"

namespace windrow::end_to_end {
namespace {

namespace json = boost::json;

class ServeBatchKeys : public ::testing::Test {
 protected:
  std::string key(const char* name, const Words& more = {}) const {
    Words words = {"keys", "add", "keys.txt", name};
    words.insert(words.end(), more.begin(), more.end());
    std::string made = folder_.windrow(words).output;
    made = made.substr(made.find("wr-"));
    return made.substr(0, made.find_first_of(" \n"));
  }

  static Words words(const char* model) {
    return {"--model", model, "--data-dir", "data", "--api-keys", "keys.txt"};
  }

  static json::value read(const Served& served, const std::string& path, const std::string& key) {
    const HttpReply reply = served.get(path, key);
    EXPECT_EQ(reply.status, 200) << path << " " << reply.body;
    return json::parse(reply.body);
  }

  static std::set<std::string> listed(const Served& served, const std::string& path,
                                      const std::string& key) {
    std::set<std::string> ids;
    const json::value list = read(served, path, key);
    for (const json::value& one : list.at("data").as_array())
      ids.insert(text_of(one, "id"));
    return ids;
  }

  static json::value wait_for(const Served& served, const std::string& id, std::string_view status,
                              const std::string& key) {
    for (;;) {
      json::value now = read(served, "/v1/batches/" + id, key);
      if (text_of(now, "status") == status) return now;
      std::this_thread::yield();
    }
  }

  const JobFolder folder_;
  const std::string alice_ = key("alice");
  const std::string bob_ = key("bob");
  const std::string admin_ = key("root", {"--admin"});
};

TEST_F(ServeBatchKeys, EachSeesItsOwn) {
  const Served served(folder_, words("sim:instant,answer-tokens=8"));
  const std::string file = upload(served, rows(3), alice_);
  const std::string id = create(served, file, alice_);
  const std::string output = text_of(wait_for(served, id, "completed", alice_), "output_file_id");
  const std::string of_bob = upload(served, rows(1), bob_);

  const std::vector<std::string> paths = {"/v1/batches/" + id, "/v1/files/" + file,
                                          "/v1/files/" + file + "/content", "/v1/files/" + output,
                                          "/v1/files/" + output + "/content"};
  for (const std::string& path : paths) {
    EXPECT_EQ(served.get(path, alice_).status, 200) << path;
    EXPECT_EQ(served.get(path, bob_).status, 404) << path;
    EXPECT_EQ(served.get(path, admin_).status, 200) << path;
    EXPECT_EQ(served.get(path).status, 401) << path;
  }
  using Ids = std::set<std::string>;
  EXPECT_EQ(listed(served, "/v1/files", alice_), (Ids{file, output}));
  EXPECT_EQ(listed(served, "/v1/files", bob_), Ids{of_bob});
  EXPECT_EQ(listed(served, "/v1/files?after=" + of_bob, bob_), Ids{});
  EXPECT_EQ(listed(served, "/v1/files", admin_), (Ids{file, output, of_bob}));
  EXPECT_EQ(listed(served, "/v1/batches", alice_), Ids{id});
  EXPECT_EQ(listed(served, "/v1/batches", bob_), Ids{});
  EXPECT_EQ(listed(served, "/v1/batches", admin_), Ids{id});
  for (const std::string& list : {"/v1/files?after=" + file, "/v1/batches?after=" + id}) {
    const HttpReply reply = served.get(list, bob_);
    EXPECT_EQ(reply.body.find(output), std::string::npos) << list << " " << reply.body;
    EXPECT_EQ(reply.body.find("\"object\":\"batch\""), std::string::npos) << reply.body;
  }

  EXPECT_EQ(served.post("/v1/batches", batch_body(file), bob_).status, 400);
  for (const std::string& one : {file, output}) {
    EXPECT_EQ(served.del("/v1/files/" + one, bob_).status, 404);
    EXPECT_EQ(served.get("/v1/files/" + one + "/content", alice_).status, 200) << "it is there yet";
  }
  EXPECT_EQ(served.del("/v1/files/" + output, alice_).status, 200);
  EXPECT_EQ(served.del("/v1/files/" + file, admin_).status, 200);
  EXPECT_EQ(listed(served, "/v1/files", alice_), Ids{});
}

TEST_F(ServeBatchKeys, OnlyItsOwnerCancelsABatch) {
  const Served served(folder_, words("sim:step-us=20000,answer-tokens=100000"));
  const std::string id = create(served, upload(served, rows(2, 100000), alice_), alice_);
  wait_for(served, id, "in_progress", alice_);
  const std::string path = "/v1/batches/" + id + "/cancel";
  EXPECT_EQ(served.post(path, "", bob_).status, 404);
  EXPECT_EQ(served.post(path, "").status, 401);
  EXPECT_EQ(text_of(read(served, "/v1/batches/" + id, alice_), "status"), "in_progress");
  EXPECT_EQ(served.post(path, "", admin_).status, 200);
  EXPECT_NE(text_of(read(served, "/v1/batches/" + id, alice_), "status"), "in_progress");
}

}  // namespace
}  // namespace windrow::end_to_end
