#include "report/upstream_figures.h"

#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

namespace windrow::report {
namespace {

llm::UpstreamStatus busy() {
  return {.name = "http://gpu2:8000",
          .answers = 1234,
          .failures = 3,
          .failures_by_code = {{"rate_limit_exceeded", 2}, {"connection_reset", 1}},
          .prompt_tokens = 10,
          .generated_tokens = 20,
          .latency_s = 1.25,
          .in_flight = 15,
          .in_flight_max = 16,
          .state = "ok",
          .finding = "saturates at 16 in flight"};
}

TEST(UpstreamStatus, ATableSaysHowEachIsDoing) {
  llm::UpstreamStatus away = busy();
  away.name = "http://a";
  away.latency_s = 0.04;
  away.state = "left alone";
  away.device_bytes = uint64_t{2} << 30;
  away.cache_used = 0;
  away.cache_used_max = 0.876;
  llm::UpstreamStatus idle{.name = "http://b", .state = "ok"};
  const llm::UpstreamStatus all[] = {busy(), away, idle};
  EXPECT_EQ(upstreams_text(all),
            "http://gpu2:8000  1,234 answers, 3 failed calls, 1.2 s each, saturates at 16 in "
            "flight\n"
            "http://a          1,234 answers, 3 failed calls, 40 ms each, saturates at 16 in "
            "flight, left alone, 2.00 GiB of its device, KV cache up to 88 % full\n"
            "http://b          nothing was asked\n");
}

TEST(UpstreamStatus, TheLiveLineHasTheShortestOfIt) {
  llm::UpstreamStatus upstream = busy();
  EXPECT_EQ(upstream_piece(upstream), "gpu2:8000 15/16 1.2 s");
  upstream.latency_s = 0;
  upstream.state = "being tried";
  EXPECT_EQ(upstream_piece(upstream), "gpu2:8000 15/16 being tried");
  upstream.cache_used = 0.42;
  EXPECT_EQ(upstream_piece(upstream), "gpu2:8000 15/16 KV 42 % being tried");
  upstream.cache_used = 0.004;
  EXPECT_EQ(upstream_piece(upstream), "gpu2:8000 15/16 being tried");
  upstream.cache_used = 0.42;
  upstream.device_bytes = uint64_t{2} << 30;
  upstream.state = "ok";
  EXPECT_EQ(upstream_piece(upstream), "gpu2:8000 15/16 KV 42 % 2.00 GiB");
}

TEST(UpstreamStatus, ScriptsGetAllOfIt) {
  const boost::json::object json = to_json(busy());
  EXPECT_EQ(json.at("answers"), 1234);
  EXPECT_EQ(json.at("failures_by_code").at("rate_limit_exceeded"), 2);
  EXPECT_EQ(json.at("in_flight_max"), 16);
  EXPECT_TRUE(json.at("device_bytes").is_null());
  EXPECT_TRUE(json.at("kv_cache_used").is_null());
  llm::UpstreamStatus telling = busy();
  telling.cache_used = 0.0;
  telling.cache_used_max = 0.5;
  EXPECT_EQ(to_json(telling).at("kv_cache_used"), 0.0);
  EXPECT_EQ(to_json(telling).at("kv_cache_used_max"), 0.5);
}

}  // namespace
}  // namespace windrow::report
