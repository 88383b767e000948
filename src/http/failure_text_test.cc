#include "http/failure_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace windrow::http {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::Not;

const CallTarget kPlace{.url = {.host = "gpu2", .port = 8000, .target = "/v1?key=secret"}};
const CallTarget kProxied{.url = {.tls = true, .host = "api.test", .port = 443},
                          .proxy = Proxy{.url = "http://me:secret@p:1", .variable = "https_proxy"}};

std::vector<std::string> all_of(const CallTarget& target) {
  return {resolve_text(target, "no such name"),
          connect_text(target, true, "Connection refused"),
          connect_text(target, false, "No route to host"),
          files_text(target, "Too many open files"),
          tls_text(target, {}, "alert"),
          tls_text(target, {.untrusted = true}, "self-signed"),
          tls_text(target, {.is_plain = true}, "wrong version number"),
          proxy_text(target, 0, "Connection refused"),
          proxy_text(target, 403, ""),
          proxy_text(target, 407, ""),
          timeout_text(target, LimitKind::kConnect, {}, false),
          timeout_text(target, LimitKind::kIdle, {.idle = seconds(5)}, true),
          timeout_text(target, LimitKind::kTotal, {.total = seconds(5)}, false),
          reset_text(target, true, "Connection reset by peer"),
          body_too_large_text(target, 1000),
          head_too_large_text(target),
          protocol_text(target, "it does not begin with HTTP/1")};
}

// What Error::message asks for, and that nothing secret is in them.
TEST(FailureText, EveryOneSaysWhereAndWhatToDoInOneLine) {
  for (const CallTarget& target : {kPlace, kProxied}) {
    for (const std::string& text : all_of(target)) {
      SCOPED_TRACE(text);
      EXPECT_TRUE(text.starts_with(origin(target.url) + ": "));
      EXPECT_THAT(text, HasSubstr("; "));
      EXPECT_FALSE(text.ends_with('.'));
      EXPECT_EQ(text.find('\n'), std::string::npos);
      EXPECT_THAT(text, Not(HasSubstr("secret")));
    }
  }
}

TEST(FailureText, NamesTheLimitThatEndedTheCall) {
  EXPECT_THAT(timeout_text(kPlace, LimitKind::kConnect, {.connect = seconds(7)}, false),
              HasSubstr("no connection within 7.0 s"));
  EXPECT_THAT(timeout_text(kPlace, LimitKind::kIdle, {.idle = seconds(8)}, true),
              HasSubstr("the reply stood still for 8.0 s"));
  EXPECT_THAT(timeout_text(kPlace, LimitKind::kTotal, {.total = seconds(90)}, true),
              HasSubstr("the reply did not end within 1 min 30 s"));
}

TEST(FailureText, AProxyIsNamedWhereItMayBeTheReason) {
  for (const std::string& text :
       {tls_text(kProxied, {.untrusted = true}, ""), reset_text(kProxied, false, ""),
        timeout_text(kProxied, LimitKind::kConnect, {}, false), proxy_text(kProxied, 502, "")}) {
    EXPECT_THAT(text, HasSubstr("http://p:1 (from https_proxy)"));
  }
}

}  // namespace
}  // namespace windrow::http
