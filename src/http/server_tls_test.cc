// The server through TLS: with this project's client, and with one that does things wrong.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <unistd.h>

#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <latch>
#include <memory>
#include <string>

#include "base/random.h"
#include "http/curl_client.h"
#include "http/testing/call_rig.h"
#include "http/testing/raw_client.h"
#include "http/testing/server_rig.h"
#include "http/testing/test_certificate.h"
#include "http/tls_transport.h"

namespace windrow::http {
namespace {

namespace asio = boost::asio;
using std::chrono::hours;
using ::testing::AllOf;
using testing::body_of;
using testing::call;
using testing::get;
using testing::get_from;
using ::testing::HasSubstr;
using testing::make_certificate;
using testing::post;
using testing::post_to;
using testing::RawClient;
using testing::reply_of;
using testing::status_of;
using testing::TestCertificate;
using Tcp = asio::ip::tcp;

// A blocking TLS client that believes any certificate.
class TlsClient {
 public:
  using Configure = std::function<void(SSL_CTX*)>;

  explicit TlsClient(uint16_t port, const Configure& configure = {}) {
    if (configure) configure(tls_.native_handle());
    stream_ = std::make_unique<asio::ssl::stream<Tcp::socket>>(context_, tls_);
    Tcp::socket& socket = stream_->next_layer();
    socket.connect({asio::ip::address_v4::loopback(), port});
    stream_->handshake(asio::ssl::stream_base::client, error_);
  }

  // Of the last thing done.
  const boost::system::error_code& error() const { return error_; }

  bool send(std::string_view bytes) {
    asio::write(*stream_, asio::buffer(bytes.data(), bytes.size()), error_);
    return !error_;
  }

  std::string read_reply() {
    while (came_.find("\r\n\r\n") == std::string::npos && more()) {
    }
    size_t end = came_.find("\r\n\r\n") + 4;
    size_t bytes = 0;
    if (const size_t length = came_.find("Content-Length: "); length < end)
      std::from_chars(came_.data() + length + 16, came_.data() + end, bytes);
    end += bytes;
    while (came_.size() < end && more()) {
    }
    std::string reply = came_.substr(0, end);
    came_.erase(0, end);
    return reply;
  }

  std::string read_all() {
    while (more()) {
    }
    return came_;
  }

  // TLS's own end, and the server's answer to it.
  void say_good_bye() { stream_->shutdown(error_); }

  SSL* ssl() const { return stream_->native_handle(); }
  Tcp::socket& socket() { return stream_->next_layer(); }

 private:
  bool more() {
    char buffer[16 * 1024];
    const size_t bytes = stream_->read_some(asio::buffer(buffer), error_);
    came_.append(buffer, bytes);
    return !error_;
  }

  asio::io_context context_;
  asio::ssl::context tls_{asio::ssl::context::tls_client};
  std::unique_ptr<asio::ssl::stream<Tcp::socket>> stream_;
  boost::system::error_code error_;
  std::string came_;
};

// Of the certificate that the server showed, in DER.
std::string fingerprint_of(const TlsClient& client) {
  X509* certificate = SSL_get_peer_certificate(client.ssl());
  if (certificate == nullptr) return "none";
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned bytes = 0;
  X509_digest(certificate, EVP_sha256(), digest, &bytes);
  X509_free(certificate);
  return std::string(digest, digest + bytes);
}

class ServerTlsTest : public testing::ServerRig {
 protected:
  std::string write_file(const std::string& name, std::string_view text) {
    const std::string path =
        ::testing::TempDir() +
        fmt::format("windrow_tls_{}_{}_{}", getpid(),
                    ::testing::UnitTest::GetInstance()->current_test_info()->name(), name);
    std::ofstream(path) << text;
    files_.push_back(path);
    return path;
  }

  TlsFiles files_of(const TestCertificate& certificate) {
    return {.certificate_file = write_file("cert.pem", certificate.certificate_pem),
            .key_file = write_file("key.pem", certificate.key_pem)};
  }

  void open_tls(ServerOptions options = {}) {
    certificate_ = make_certificate({"127.0.0.1"});
    options.tls = files_of(certificate_);
    open(std::move(options));
  }

  void TearDown() override {
    for (const std::string& file : files_)
      std::filesystem::remove(file);
  }

  // What load() says of these files.
  std::string complaint(const TlsFiles& files, ErrorKind kind) {
    const auto loaded = TlsContext::load(files);
    if (loaded) return "nothing";
    EXPECT_EQ(loaded.error().kind, kind);
    return loaded.error().message;
  }

  TestCertificate certificate_;
  std::vector<std::string> files_;
};

TEST_F(ServerTlsTest, OurClientIsServed) {
  open_tls();
  const SystemClock clock;
  Loop loop(clock);
  CurlClient curl(loop, {.ca_file = files_[0]});
  const auto url = [&](const std::string& target) {
    return Url{.tls = true, .host = "127.0.0.1", .port = server_->port(), .target = target};
  };
  const std::string body(5'000'000, 'x');
  EXPECT_EQ(reply_of(call(curl, post_to(url("/echo"), body))).body, body);
  const ClientReply reply = reply_of(call(curl, get_from(url("/pieces"))));
  EXPECT_EQ(reply.body, "data: 1\n\ndata: 2\n\n");
  EXPECT_EQ(reply.head.version, HttpVersion::k1_1);  // it had offered HTTP/2 too
  EXPECT_EQ(reply_of(call(curl, get_from(url("/peer")))).body, "127.0.0.1");
  EXPECT_EQ(server_->connections(), 1U);
}

TEST_F(ServerTlsTest, RequestsComeInAnyPiecesAndRecords) {
  open_tls();
  TlsClient client(server_->port());
  const std::string request = post("/echo", "hello");
  for (const char& byte : request)
    client.send({&byte, 1});
  EXPECT_EQ(body_of(client.read_reply()), "hello");
  std::string many;
  for (int i = 0; i < 1000; ++i)
    many += post("/echo", fmt::format("{}", i));
  client.send(many);
  for (int i = 0; i < 1000; ++i)
    ASSERT_EQ(body_of(client.read_reply()), fmt::format("{}", i));
}

TEST_F(ServerTlsTest, OldProtocolsWeakCiphersAndRenegotiationAreRefused) {
  open_tls();
  const TlsClient old(server_->port(), [](SSL_CTX* tls) {
    SSL_CTX_set_security_level(tls, 0);
    SSL_CTX_set_min_proto_version(tls, TLS1_VERSION);
    SSL_CTX_set_max_proto_version(tls, TLS1_1_VERSION);
  });
  EXPECT_TRUE(old.error());
  const auto only_1_2 = [](SSL_CTX* tls) { SSL_CTX_set_max_proto_version(tls, TLS1_2_VERSION); };
  const TlsClient weak(server_->port(), [&](SSL_CTX* tls) {
    only_1_2(tls);
    SSL_CTX_set_cipher_list(tls, "ECDHE+AES+SHA1:AES128-SHA");
  });
  EXPECT_TRUE(weak.error());
  TlsClient again(server_->port(), only_1_2);
  ASSERT_FALSE(again.error()) << again.error().message();
  again.send(get("/prepared"));
  EXPECT_EQ(status_of(again.read_reply()), 200);
  SSL_renegotiate(again.ssl());
  again.send(get("/prepared"));
  again.read_reply();
  EXPECT_TRUE(again.error());
}

TEST_F(ServerTlsTest, TheProtocolIsAgreedOn) {
  open_tls();
  const auto offering = [](std::string_view list) {
    return [list](SSL_CTX* tls) {
      SSL_CTX_set_alpn_protos(tls, reinterpret_cast<const unsigned char*>(list.data()),
                              static_cast<unsigned>(list.size()));
    };
  };
  TlsClient both(server_->port(), offering("\x02h2\x08http/1.1"));
  const unsigned char* chosen = nullptr;
  unsigned bytes = 0;
  SSL_get0_alpn_selected(both.ssl(), &chosen, &bytes);
  EXPECT_EQ(std::string_view(reinterpret_cast<const char*>(chosen), bytes), "http/1.1");
  const TlsClient other(server_->port(), offering("\x02h2"));
  EXPECT_THAT(other.error().message(), HasSubstr("application protocol"));
}

TEST_F(ServerTlsTest, PlainHttpIsToldWhatToDo) {
  open_tls();
  for (const char* method : {"GET", "DELETE"}) {
    RawClient client = this->client();
    client.send(fmt::format("{} /prepared HTTP/1.1\r\nHost: x\r\n\r\n", method));
    const std::string reply = client.read_all();
    EXPECT_EQ(status_of(reply), 400);
    EXPECT_THAT(body_of(reply), HasSubstr("https://"));
  }
  EXPECT_EQ(server_->arriving(), 0U);
}

TEST_F(ServerTlsTest, GarbageAndHalfHandshakesEndOnTime) {
  open_tls();
  constexpr uint64_t kSeed = 11;
  SCOPED_TRACE("seed 11");
  Random random(kSeed);
  for (int i = 0; i < 300; ++i) {
    RawClient client = this->client();
    std::string bytes = "\x16\x03\x01";
    if (random.chance(0.5)) bytes[0] = static_cast<char>(random.below(64));
    for (size_t n = random.below(400); n > 0; --n)
      bytes += static_cast<char>(random.next());
    client.send(bytes);
    if (random.chance(0.5)) client.end_sending();
    if (random.chance(0.3)) client.reset();
  }
  wait_until([&] { return server_->connections() == 0; });
  RawClient silent = client();
  RawClient half = client();
  half.send("\x16\x03\x01\x02\x00\x01");
  wait_until([&] { return server_->connections() == 2; });
  clock_.advance(std::chrono::seconds(31));  // as a request: idle time is longer
  EXPECT_EQ(silent.read_all(), "");
  EXPECT_EQ(half.read_all(), "");
  wait_until([&] { return server_->connections() == 0; });
}

TEST_F(ServerTlsTest, AReaderThatLeavesIsReportedAtOnceHoweverItLeaves) {
  open_tls();
  for (const char* how : {"good-bye", "half", "cut", "reset"}) {
    TlsClient client(server_->port());
    client.send(get("/keep"));
    Exchange exchange = take_kept();
    std::latch gone(1);
    exchange.on_disconnect([&] { gone.count_down(); });
    exchange.start(200, {});
    exchange.write("data: 1\n\n");
    if (how[0] == 'g') client.say_good_bye();
    if (how[0] == 'h') client.socket().shutdown(Tcp::socket::shutdown_send);
    if (how[0] == 'r') client.socket().set_option(asio::socket_base::linger(true, 0));
    if (how[0] == 'c' || how[0] == 'r') client.socket().close();
    gone.wait();
  }
  wait_until([&] { return server_->connections() == 0; });
}

TEST_F(ServerTlsTest, AnEndIsAGoodByeAndABreakIsNone) {
  open_tls();
  TlsClient closing(server_->port());
  closing.send(get("/prepared", "Connection: close\r\n"));
  EXPECT_EQ(status_of(closing.read_all()), 200);
  EXPECT_EQ(closing.error(), asio::error::eof);
  TlsClient broken(server_->port());
  broken.send(get("/half"));
  broken.read_all();
  EXPECT_NE(broken.error(), asio::error::eof);
  TlsClient idle(server_->port());
  idle.send(get("/prepared"));
  idle.read_reply();
  clock_.advance(hours(1));
  EXPECT_EQ(idle.read_all(), "");
  EXPECT_EQ(idle.error(), asio::error::eof);
}

TEST_F(ServerTlsTest, ASlowReaderGetsAllOfIt) {
  open_tls();
  TlsClient client(server_->port());
  client.send(get("/keep"));
  Exchange exchange = take_kept();
  exchange.start(200, {}, 30'000'000);
  for (int i = 0; i < 3000; ++i)
    exchange.write(std::string(10'000, static_cast<char>('a' + i % 26)));
  exchange.finish();
  const std::string body = body_of(client.read_reply());
  ASSERT_EQ(body.size(), 30'000'000U);
  for (size_t i = 0; i < 3000; ++i)
    ASSERT_EQ(body.substr(i * 10'000, 10'000),
              std::string(10'000, static_cast<char>('a' + i % 26)));
}

TEST_F(ServerTlsTest, ACertificateThatWasReplacedIsForNewConnections) {
  open_tls();
  TlsClient before(server_->port());
  const std::string first = fingerprint_of(before);
  const TestCertificate second = make_certificate({"127.0.0.1"});
  std::ofstream(files_[0]) << second.certificate_pem;
  // The key of another certificate: two files are replaced one after the other.
  const Result<void> half = server_->reload_tls();
  ASSERT_FALSE(half.has_value());
  EXPECT_EQ(half.error().kind, ErrorKind::kInvalid);
  EXPECT_THAT(half.error().message, HasSubstr("does not belong to the certificate in"));
  EXPECT_EQ(fingerprint_of(TlsClient(server_->port())), first);

  std::ofstream(files_[1]) << second.key_pem;
  ASSERT_TRUE(server_->reload_tls().has_value());
  TlsClient after(server_->port());
  EXPECT_NE(fingerprint_of(after), first);
  for (TlsClient* client : {&before, &after}) {
    client->send(get("/prepared"));
    EXPECT_EQ(status_of(client->read_reply()), 200);
  }

  std::filesystem::remove(files_[1]);
  EXPECT_EQ(server_->reload_tls().error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(fingerprint_of(TlsClient(server_->port())), fingerprint_of(after));
}

TEST_F(ServerTlsTest, FilesThatCannotBeUsedAreExplained) {
  const TestCertificate one = make_certificate({"localhost"});
  const TestCertificate two = make_certificate({"localhost"});
  const TlsFiles good = files_of(one);
  const std::string other_key = write_file("other_key.pem", two.key_pem);
  const std::string chain = write_file("chain.pem", two.certificate_pem + one.certificate_pem);
  const std::string text = write_file("text.pem", "this is a text\n");
  const std::string torn = write_file("torn.pem", one.certificate_pem.substr(0, 300) + "\n");
  const std::string torn_second = write_file("torn2.pem", one.certificate_pem +
                                                              "-----BEGIN CERTIFICATE-----\n%\n"
                                                              "-----END CERTIFICATE-----\n");
  EXPECT_EQ(complaint(good, ErrorKind::kInvalid), "nothing");
  // Behind the first one others may stand, as authorities hand them out.
  EXPECT_EQ(
      complaint({write_file("full.pem", one.certificate_pem + two.certificate_pem), good.key_file},
                ErrorKind::kInvalid),
      "nothing");
  EXPECT_THAT(complaint({"/nowhere/cert.pem", good.key_file}, ErrorKind::kNotFound),
              AllOf(HasSubstr("/nowhere/cert.pem: cannot read the certificate"),
                    HasSubstr("No such file")));
  EXPECT_THAT(complaint({good.certificate_file, "/nowhere/key.pem"}, ErrorKind::kNotFound),
              HasSubstr("/nowhere/key.pem: cannot read the key"));
  EXPECT_THAT(complaint({::testing::TempDir(), good.key_file}, ErrorKind::kIo),
              HasSubstr("directory"));
  EXPECT_THAT(complaint({text, good.key_file}, ErrorKind::kInvalid),
              AllOf(HasSubstr(text), HasSubstr("there is no certificate in it")));
  EXPECT_THAT(complaint({good.key_file, good.key_file}, ErrorKind::kInvalid),
              HasSubstr("there is no certificate in it"));
  EXPECT_THAT(complaint({torn, good.key_file}, ErrorKind::kInvalid),
              HasSubstr("certificate number 1 cannot be read"));
  EXPECT_THAT(complaint({torn_second, good.key_file}, ErrorKind::kInvalid),
              HasSubstr("certificate number 2 cannot be read"));
  EXPECT_THAT(complaint({good.certificate_file, text}, ErrorKind::kInvalid),
              AllOf(HasSubstr(text), HasSubstr("there is no private key in it")));
  EXPECT_THAT(complaint({good.certificate_file, other_key}, ErrorKind::kInvalid),
              AllOf(HasSubstr(other_key), HasSubstr("does not belong to the certificate in"),
                    HasSubstr(good.certificate_file)));
  EXPECT_THAT(complaint({chain, good.key_file}, ErrorKind::kInvalid),
              HasSubstr("belongs to the key is number 2; it must be the first"));
}

TEST_F(ServerTlsTest, AnEncryptedKeyIsToldFromABrokenOne) {
  const TestCertificate one = make_certificate({"localhost"});
  const TlsFiles good = files_of(one);
  const std::string encrypted = write_file("encrypted.pem", testing::encrypt_key(one.key_pem));
  EXPECT_THAT(complaint({good.certificate_file, encrypted}, ErrorKind::kInvalid),
              AllOf(HasSubstr("the key is encrypted"), HasSubstr("openssl pkey -in " + encrypted)));
  std::string text = one.key_pem;
  text[40] = text[40] == 'A' ? 'B' : 'A';
  const std::string broken = write_file("broken.pem", text);
  EXPECT_THAT(complaint({good.certificate_file, broken}, ErrorKind::kInvalid),
              HasSubstr("the key cannot be read"));
}

}  // namespace
}  // namespace windrow::http
