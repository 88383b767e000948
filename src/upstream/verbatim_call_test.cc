#include "upstream/verbatim_call.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "upstream/upstream_backend.h"

namespace windrow::upstream {
namespace {

using Take = llm::ReplySink::Take;

std::string target(std::string_view base, std::string where) {
  llm::Request request;
  request.verbatim = {.target = std::move(where)};
  return http::to_string(target_of(with_version(http::parse_url(base).value()), request));
}

TEST(VerbatimTarget, BeginsAtTheServerAndIsElseTheRouteOfTheEndpoint) {
  EXPECT_EQ(target("http://h:8000", "/generate"), "http://h:8000/generate");
  EXPECT_EQ(target("http://h:8000/v1", "/v1/models?x=1"), "http://h:8000/v1/models?x=1");
  EXPECT_EQ(target("https://h/openai/v1", "/v1/models"), "https://h/openai/v1/models");
  EXPECT_EQ(target("http://h:8000", ""), "http://h:8000/v1/chat/completions");
}

// Its key would go there.
TEST(VerbatimTarget, IsNeverOnAnotherServer) {
  EXPECT_EQ(target("http://h:8000", "@other/x"), "http://h:8000/@other/x");
  EXPECT_EQ(target("http://h:8000", "0/x"), "http://h:8000/0/x");
  EXPECT_EQ(target("http://h:8000", "//other/x"), "http://h:8000//other/x");
}

http::Headers headers_with(std::vector<llm::RequestHeader> headers, bool verbatim) {
  llm::Request request;
  if (verbatim) request.verbatim.emplace();
  request.headers = std::move(headers);
  return with_headers_of(
      request,
      {{"Content-Type", "application/json"}, {"Authorization", "Bearer own"}, {"X-Own", "1"}});
}

TEST(RequestHeaders, StandBesideTheSettingsWhichWin) {
  const http::Headers all = headers_with({{.name = "X-Trace", .value = "a"},
                                          {.name = "x-trace", .value = "b"},
                                          {.name = "x-own", .value = "2"},
                                          {.name = "authorization", .value = "Bearer theirs"},
                                          {.name = "content-type", .value = "text/plain"}},
                                         false);
  EXPECT_EQ(all.size(), 5U);
  EXPECT_EQ(all.get("Authorization"), "Bearer own");
  EXPECT_EQ(all.get("X-Own"), "1");
  EXPECT_EQ(all.get("Content-Type"), "application/json");
  EXPECT_EQ(all.get("X-Trace"), "a");
}

TEST(RequestHeaders, NameTheTypeOfAVerbatimBodyAndNothingOfTheConnection) {
  const http::Headers all = headers_with({{.name = "content-type", .value = "text/plain"},
                                          {.name = "host", .value = "x"},
                                          {.name = "Content-Length", .value = "7"},
                                          {.name = "transfer-encoding", .value = "chunked"},
                                          {.name = "Accept-Encoding", .value = "br"},
                                          {.name = "Connection", .value = "close"}},
                                         true);
  EXPECT_EQ(all.size(), 3U);
  EXPECT_EQ(all.get("Content-Type"), "text/plain");
}

TEST(ReadVerbatim, KeepsStatusTypeAndEveryByte) {
  for (const int32_t status : {200, 204, 302, 404, 500}) {
    http::ClientReply reply;
    reply.head.status = status;
    reply.head.headers.add("content-type", "text/html; charset=x");
    reply.body = std::string("\xEF\xBB\xBF{\n \0}\r\n", 11);
    const llm::Outcome outcome = read_verbatim({.server = "s"}, reply);
    const auto& verbatim = std::get<llm::Answer>(outcome).verbatim;
    ASSERT_TRUE(verbatim);
    EXPECT_EQ(verbatim->status, status);
    EXPECT_EQ(verbatim->content_type, "text/html; charset=x");
    EXPECT_EQ(verbatim->body, reply.body);
  }
}

TEST(ReadVerbatim, WhereNoReplyCameThereIsAFailure) {
  const llm::Outcome outcome = read_verbatim(
      {.server = "s"}, http::ClientFailure{.kind = http::FailureKind::kReset, .message = "gone"});
  EXPECT_EQ(std::get<llm::Failure>(outcome).code, "connection_reset");
  EXPECT_EQ(std::get<llm::Failure>(outcome).failure_class, llm::FailureClass::kTransient);
}

class Scripted final : public llm::ReplySink {
 public:
  size_t bytes_max() const override { return 100; }
  void on_begin(std::function<void()> go_on) override {
    ++begun;
    resume = std::move(go_on);
  }
  Take on_bytes(std::string_view bytes) override {
    text += bytes;
    if (resumes_inside) resume();
    return next;
  }

  int begun = 0;
  std::function<void()> resume;
  std::string text;
  Take next = Take::kMore;
  bool resumes_inside = false;
};

TEST(SinkFlow, PausesUntilTheSinkResumes) {
  const auto sink = std::make_shared<Scripted>();
  int asked_again = 0;
  SinkFlow flow(sink, [&] { ++asked_again; });
  EXPECT_TRUE(flow.takes_more());
  EXPECT_TRUE(flow.take("a"));
  EXPECT_TRUE(flow.takes_more());
  sink->next = Take::kPause;
  EXPECT_TRUE(flow.take("b"));
  EXPECT_FALSE(flow.takes_more());
  sink->resume();
  EXPECT_EQ(asked_again, 1);
  EXPECT_TRUE(flow.takes_more());
  EXPECT_TRUE(flow.take("c"));
  EXPECT_FALSE(flow.takes_more()) << "each pause is one of its own";
  sink->resume();
  sink->next = Take::kStop;
  EXPECT_FALSE(flow.take("d"));
  EXPECT_EQ(sink->text, "abcd");
  EXPECT_EQ(sink->begun, 1);
}

// As another thread may, before the pause is known here.
TEST(SinkFlow, AResumeDuringTheCallThatAsksForAPauseCounts) {
  const auto sink = std::make_shared<Scripted>();
  SinkFlow flow(sink, [] {});
  sink->next = Take::kPause;
  sink->resumes_inside = true;
  EXPECT_TRUE(flow.take("a"));
  EXPECT_TRUE(flow.takes_more());
}

TEST(SinkFlow, AnEarlierResumeEndsNoLaterPause) {
  const auto sink = std::make_shared<Scripted>();
  SinkFlow flow(sink, [] {});
  EXPECT_TRUE(flow.take("a"));
  sink->resume();
  sink->next = Take::kPause;
  EXPECT_TRUE(flow.take("b"));
  EXPECT_FALSE(flow.takes_more());
}

}  // namespace
}  // namespace windrow::upstream
