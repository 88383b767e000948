// MemoryCallsTest: a whole server with memory banks: real banks on disk, and scripted models.
#pragma once

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "api/memory/memory_calls.h"
#include "api/testing/server_rig.h"
#include "base/testing/eventually.h"
#include "http/testing/raw_client.h"
#include "memory/testing/scripted_models.h"
#include "store/posix_disk.h"
#include "store/testing/temporary_folder.h"

namespace windrow::api::testing {

namespace json = boost::json;

inline constexpr std::string_view kBank = "/v1/default/banks/team";

class MemoryCallsTest : public ::testing::Test {
 protected:
  ~MemoryCallsTest() override {
    if (rig_ && rig_->server) rig_->server->stop(Duration{});
    if (service_) service_->stop();
  }

  void open(MemoryLimits limits = {}, bool start = true) {
    memory::MemoryServiceOptions options{.folder = folder_ / "banks"};
    options.defaults.retain_extraction_mode = "verbatim";
    options.defaults.enable_auto_consolidation = false;
    service_ = *memory::MemoryService::open(disk_, clock_, std::move(options));
    if (start) service_->start(models_);
    ApiOptions api;
    api.parts = {memory_part(service_.get(), limits)};
    if (!keys_.empty())
      api.keys = std::make_shared<const KeyRingHolder>(*KeyRing::parse(keys_, "keys"));
    rig_.emplace(std::move(api));
  }

  void make_key_of(const std::string& name, std::string_view limits) {
    const Result<NewKey> made = make_key(name, limits, std::string(32, name[0]));
    keys_ += made->line + "\n";
    headers_[name] = "Authorization: Bearer " + made->key + "\r\n";
  }

  Reply ask(std::string_view method, std::string_view path, std::string_view body = "",
            const std::string& key = "") {
    return rig_->ask(fmt::format("{} {} HTTP/1.1\r\nHost: x\r\n{}Content-Length: {}\r\n\r\n{}",
                                 method, path, key.empty() ? "" : headers_.at(key), body.size(),
                                 body));
  }

  json::value good(std::string_view method, std::string_view path, std::string_view body = "",
                   const std::string& key = "") {
    const Reply reply = ask(method, path, body, key);
    EXPECT_EQ(reply.status, 200) << method << " " << path << ": " << reply.body;
    EXPECT_EQ(reply.header("Content-Type"), "application/json");
    return json::parse(reply.body.empty() ? "null" : reply.body);
  }

  // The text of an error.
  std::string detail(const Reply& reply) {
    const json::value body = reply.json();
    return body.at("detail").is_string() ? std::string(body.at("detail").as_string())
                                         : json::serialize(body.at("detail"));
  }

  void retain(std::string_view content, std::string_view more = "") {
    const json::value reply =
        good("POST", fmt::format("{}/memories", kBank),
             fmt::format(R"({{"items":[{{"content":"{}"{}}}]}})", content, more));
    EXPECT_EQ(reply.at("items_count"), 1);
  }

  json::value items(std::string_view query = "") {
    return good("GET", fmt::format("{}/memories/list{}", kBank, query)).at("items");
  }

  std::string first_id(std::string_view query = "") {
    const json::value found = items(query);
    if (found.as_array().empty()) return "";
    return std::string(found.at(0).at("id").as_string());
  }

  void consolidate() {
    const json::value queued = good("POST", fmt::format("{}/consolidate", kBank));
    const std::string path = fmt::format("{}/operations/{}", kBank,
                                         std::string_view(queued.at("operation_id").as_string()));
    windrow::testing::eventually(
        [&] { return std::string(good("GET", path).at("status").as_string()); },
        ::testing::StrEq("completed"));
  }

  const SystemClock clock_;
  const windrow::store::testing::TemporaryFolder folder_;
  windrow::store::PosixDisk disk_;
  windrow::memory::testing::ScriptedModels models_;
  std::unique_ptr<memory::MemoryService> service_;
  std::string keys_;
  std::map<std::string, std::string> headers_;
  std::optional<ServerRig> rig_;
};

}  // namespace windrow::api::testing
