// What CurlClient has beyond other clients: TLS, proxies, compression, redirects.
#include "http/curl_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>

#include "http/testing/call_rig.h"
#include "http/testing/test_server.h"

namespace windrow::http {
namespace {

using ::testing::AllOf;
using testing::call;
using testing::closed_port;
using testing::failure_of;
using testing::get_from;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::post_to;
using testing::reply_of;
using testing::TestCertificate;
using testing::TestReply;
using testing::TestRequest;
using testing::TestServer;

class CurlClientTest : public ::testing::Test {
 protected:
  CurlClient& client(ClientOptions options = {}) {
    client_ = std::make_unique<CurlClient>(loop_, std::move(options));
    return *client_;
  }

  // A certificate as a file that a client may be told to trust.
  std::string file_of(const TestCertificate& certificate) {
    const std::string path = ::testing::TempDir() + "windrow_http_" +
                             std::to_string(::testing::UnitTest::GetInstance()->random_seed()) +
                             "_" + ::testing::UnitTest::GetInstance()->current_test_info()->name() +
                             ".pem";
    std::ofstream(path) << certificate.certificate_pem;
    return path;
  }

 private:
  SystemClock clock_;
  Loop loop_{clock_};
  std::unique_ptr<CurlClient> client_;
};

TestReply echo(const TestRequest& request) {
  return {.body = request.target + request.body};
}

// --- TLS ----------------------------------------------------------------------------------------

TEST_F(CurlClientTest, ATrustedCertificateIsTakenAndHttp2Offered) {
  const TestCertificate certificate = testing::make_certificate({"127.0.0.1"});
  TestServer server(&echo, {.tls = certificate});
  CurlClient& curl = client({.ca_file = file_of(certificate)});
  const ClientReply reply = reply_of(call(curl, post_to(server.url("/a"), "b")));
  EXPECT_EQ(reply.body, "/ab");
  EXPECT_EQ(reply.head.version, HttpVersion::k1_1);
  EXPECT_THAT(server.alpn_offered(), HasSubstr("h2"));
  reply_of(call(curl, post_to(server.url("/a"), "b")));
  EXPECT_EQ(server.connections(), 1);
}

TEST_F(CurlClientTest, AnUnsignedCertificateIsRefused) {
  TestServer server(&echo, {.tls = testing::make_certificate({"127.0.0.1"})});
  const ClientFailure failure = failure_of(call(client(), get_from(server.url())));
  EXPECT_EQ(failure.kind, FailureKind::kTls);
  EXPECT_FALSE(failure.sent);
  EXPECT_THAT(failure.message, AllOf(HasSubstr("https://127.0.0.1:"), HasSubstr("not trusted"),
                                     HasSubstr("update-ca-certificates")));
  EXPECT_EQ(server.requests(), 0);
}

TEST_F(CurlClientTest, ACertificateOfAnotherHostIsRefused) {
  const TestCertificate certificate = testing::make_certificate({"example.test", "127.0.0.2"});
  TestServer server(&echo, {.tls = certificate});
  CurlClient& curl = client({.ca_file = file_of(certificate)});
  const ClientFailure failure = failure_of(call(curl, get_from(server.url())));
  EXPECT_EQ(failure.kind, FailureKind::kTls);
  EXPECT_FALSE(failure.sent);
  EXPECT_THAT(failure.message, HasSubstr("the host name that the certificate has"));
}

TEST_F(CurlClientTest, HttpsToAPlainServerSaysSo) {
  TestServer server(&echo);
  Url url = server.url();
  url.tls = true;
  const ClientFailure failure = failure_of(call(client(), get_from(url)));
  EXPECT_EQ(failure.kind, FailureKind::kTls);
  EXPECT_FALSE(failure.sent);
  EXPECT_THAT(failure.message, HasSubstr("write http://"));
}

TEST_F(CurlClientTest, HttpToATlsServerFails) {
  TestServer server(&echo, {.tls = testing::make_certificate({"127.0.0.1"})});
  Url url = server.url();
  url.tls = false;
  EXPECT_THAT(failure_of(call(client(), get_from(url))).kind,
              ::testing::AnyOf(FailureKind::kReset, FailureKind::kProtocol));
}

// --- proxies ------------------------------------------------------------------------------------

ClientOptions through(const TestServer& proxy) {
  return {.proxies = {.http = origin(proxy.url()), .https = origin(proxy.url())}};
}

const Url kFar{.host = "upstream.test", .target = "/v1"};
const Url kFarTls{.tls = true, .host = "upstream.test", .port = 443, .target = "/v1"};

TEST_F(CurlClientTest, AProxyGetsTheWholeUrl) {
  TestServer proxy(&echo);
  const ClientReply reply = reply_of(call(client(through(proxy)), get_from(kFar)));
  EXPECT_EQ(reply.body, "http://upstream.test/v1");
  EXPECT_TRUE(reply.via_proxy);
}

TEST_F(CurlClientTest, ThisMachineIsReachedWithoutTheProxy) {
  TestServer proxy(&echo);
  TestServer server(&echo);
  const ClientReply reply = reply_of(call(client(through(proxy)), get_from(server.url("/x"))));
  EXPECT_EQ(reply.body, "/x");
  EXPECT_FALSE(reply.via_proxy);
  EXPECT_EQ(proxy.requests(), 0);
}

TEST_F(CurlClientTest, TlsGoesThroughATunnelOfTheProxy) {
  const TestCertificate certificate = testing::make_certificate({"upstream.test"});
  TestServer server(&echo, {.tls = certificate});
  std::string asked;
  TestServer proxy([&](const TestRequest& request) {
    asked = request.method + " " + request.target;
    return TestReply{.body = "HTTP/1.1 200 Connected\r\n\r\n",
                     .framing = TestReply::Framing::kRaw,
                     .tunnel_port = server.port()};
  });
  ClientOptions options = through(proxy);
  options.ca_file = file_of(certificate);
  EXPECT_EQ(reply_of(call(client(options), get_from(kFarTls))).body, "/v1");
  EXPECT_EQ(asked, "CONNECT upstream.test:443");
}

TEST_F(CurlClientTest, AProxyThatRefusesTheTunnelIsNamed) {
  for (const int32_t status : {403, 407, 502}) {
    TestServer proxy([&](const TestRequest&) { return TestReply{.status = status}; });
    const ClientFailure failure = failure_of(call(client(through(proxy)), get_from(kFarTls)));
    EXPECT_EQ(failure.kind, FailureKind::kProxy);
    EXPECT_FALSE(failure.sent);
    EXPECT_THAT(failure.message, AllOf(HasSubstr(origin(proxy.url())), HasSubstr("https_proxy"),
                                       HasSubstr("add upstream.test to no_proxy")));
    EXPECT_THAT(failure.message, HasSubstr(status == 407 ? "password" : std::to_string(status)));
  }
}

TEST_F(CurlClientTest, AProxyThatWantsAPasswordIsNotTheServersAnswer) {
  TestServer proxy([&](const TestRequest&) { return TestReply{.status = 407}; });
  const ClientFailure failure = failure_of(call(client(through(proxy)), get_from(kFar)));
  EXPECT_EQ(failure.kind, FailureKind::kProxy);
  EXPECT_THAT(failure.message, HasSubstr("http_proxy"));
}

TEST_F(CurlClientTest, AProxyThatIsGoneIsNamedWithoutItsPassword) {
  const std::string place = "127.0.0.1:" + std::to_string(closed_port());
  const ClientOptions options{.proxies = {.http = "http://me:secret@" + place}};
  const ClientFailure failure = failure_of(call(client(options), get_from(kFar)));
  EXPECT_EQ(failure.kind, FailureKind::kProxy);
  EXPECT_FALSE(failure.sent);
  EXPECT_THAT(failure.message, AllOf(HasSubstr(place), HasSubstr("cannot be used"),
                                     HasSubstr("Connection refused"), Not(HasSubstr("secret"))));
}

// --- compression and redirects ------------------------------------------------------------------

std::string gzipped(const std::string& text) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string packed(deflateBound(&stream, text.size()), '\0');
  std::string copy = text;
  stream.next_in = reinterpret_cast<Bytef*>(copy.data());
  stream.avail_in = static_cast<uInt>(copy.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

TEST_F(CurlClientTest, ACompressedBodyIsUnpacked) {
  const std::string text(100'000, 'a');
  TestServer server([&](const TestRequest& request) {
    EXPECT_THAT(std::string(request.headers.get("Accept-Encoding").value_or("")),
                HasSubstr("gzip"));
    return TestReply{.headers = {{"Content-Encoding", "gzip"}}, .body = gzipped(text)};
  });
  EXPECT_EQ(reply_of(call(client(), get_from(server.url()))).body, text);
}

TEST_F(CurlClientTest, TheLimitCountsWhatABodyUnpacksTo) {
  TestServer server([&](const TestRequest&) {
    return TestReply{.headers = {{"Content-Encoding", "gzip"}},
                     .body = gzipped(std::string(10'000'000, 'a'))};
  });
  ClientRequest request = get_from(server.url());
  request.limits.reply_bytes_max = 1'000'000;
  EXPECT_EQ(failure_of(call(client(), std::move(request))).kind, FailureKind::kTooLarge);
}

TEST_F(CurlClientTest, ABrokenCompressionIsAFailure) {
  TestServer server([&](const TestRequest&) {
    return TestReply{.headers = {{"Content-Encoding", "gzip"}}, .body = "this is not gzip"};
  });
  EXPECT_EQ(failure_of(call(client(), get_from(server.url()))).kind, FailureKind::kProtocol);
}

TEST_F(CurlClientTest, RedirectsAreFollowedOnlyWhereAsked) {
  TestServer server([](const TestRequest& request) {
    if (request.target == "/end") return TestReply{.body = "end"};
    return TestReply{.status = 302,
                     .headers = {{"Location", request.target == "/a" ? "/b" : "/end"}},
                     .body = "moved"};
  });
  ClientRequest request = get_from(server.url("/a"));
  EXPECT_EQ(reply_of(call(client(), request)).head.status, 302);
  request.redirects_max = 2;
  EXPECT_EQ(reply_of(call(client(), request)).body, "end");
  request.redirects_max = 1;
  EXPECT_EQ(reply_of(call(client(), request)).head.status, 302);
}

TEST_F(CurlClientTest, AKeyIsNotCarriedToAnotherHost) {
  std::string seen;
  TestServer other([&](const TestRequest& request) {
    seen = std::string(request.headers.get("Authorization").value_or("nothing"));
    return TestReply{};
  });
  TestServer server([&](const TestRequest&) {
    return TestReply{.status = 302, .headers = {{"Location", to_string(other.url("/x"))}}};
  });
  ClientRequest request = get_from(server.url());
  request.redirects_max = 3;
  request.headers.add("Authorization", "Bearer secret");
  reply_of(call(client(), std::move(request)));
  EXPECT_EQ(seen, "nothing");
}

}  // namespace
}  // namespace windrow::http
