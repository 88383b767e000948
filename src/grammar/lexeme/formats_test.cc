#include "grammar/lexeme/formats.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "grammar/lexeme/testing/automata.h"

namespace windrow::grammar {
namespace {

bool is(std::string_view format, std::string_view text) {
  return format_dfa(format)->contains(text);
}

TEST(Formats, AreKnownByName) {
  EXPECT_EQ(known_formats().size(), 20u);
  const std::set<std::string> may_be_empty = {"uri-reference", "iri-reference", "uri-template",
                                              "json-pointer",  "regex",         "byte"};
  for (const std::string& name : known_formats()) {
    ASSERT_NE(format_dfa(name), nullptr) << name;
    EXPECT_FALSE(format_dfa(name)->empty()) << name;
    EXPECT_EQ(is(name, ""), may_be_empty.contains(name)) << name;
    EXPECT_FALSE(is(name, "\n")) << name;
    EXPECT_EQ(useless_states(*json_string_dfa(*format_dfa(name))), 0u) << name;
    EXPECT_LT(format_dfa(name)->states_count(), 2000u) << name;
  }
  EXPECT_EQ(format_dfa("tartan"), nullptr);
  EXPECT_EQ(format_dfa(""), nullptr);
  EXPECT_EQ(format_dfa("date"), format_dfa("date"));
}

TEST(Formats, DatesAreTheDaysOfTheCalendar) {
  const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  for (int year = 1900; year <= 2104; ++year) {
    const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    for (int month = 0; month <= 13; ++month) {
      for (int day = 0; day <= 32; ++day) {
        bool wanted = month >= 1 && month <= 12 && day >= 1;
        if (wanted) wanted = day <= lengths[month - 1] + (month == 2 && leap ? 1 : 0);
        const std::string text = fmt::format("{:04}-{:02}-{:02}", year, month, day);
        ASSERT_EQ(is("date", text), wanted) << text;
      }
    }
  }
}

struct Case {
  std::string_view format;
  std::vector<std::string> good;
  std::vector<std::string> bad;
};

TEST(Formats, TakeAndRefuse) {
  const std::string label63(63, 'a');
  const std::vector<Case> cases = {
      {"date",
       {"1963-06-19", "2020-02-29", "2000-02-29", "0001-01-01", "9999-12-31"},
       {"06/19/1963", "2013-350", "1998-1-20", "1998-01-1", "2021-02-29", "1900-02-29",
        "1998-13-01", "1998-04-31", "0000-01-01", "1963-06-1৪", "20230328", "2023-W01",
        "+11963-06-19", "1963-06-19T00:00:00Z", " 1963-06-19"}},
      {"time",
       {"08:30:06Z", "23:59:60Z", "23:59:59.123456789Z", "08:30:06+00:20", "08:30:06-08:00",
        "00:00:00.0-23:59"},
       {"08:30:06", "24:00:00Z", "00:60:00Z", "00:00:61Z", "22:59:60Z", "23:58:60Z",
        "23:59:60+01:00", "08:30:06.Z", "8:30:06Z", "08:30:06+24:00", "08:30:06+00:60",
        "08:30:06PST", "08:30Z", "08:30:06.1234567890Z", "08:30:06 Z", "08:30:06z",
        "01:02:03Z+00:30", "1২:00:00Z"}},
      {"date-time",
       {"1963-06-19T08:30:06.283185Z", "1990-12-31T15:59:50.123-08:00", "1998-12-31T23:59:60Z",
        "1937-01-01T12:00:27.87+00:20"},
       {"1990-02-31T15:59:59.123-08:00", "1990-12-31T15:59:59-24:00", "06/19/1963 08:30:06 PST",
        "2013-350T01:01:01", "1963-6-19T08:30:06.283185Z", "1963-06-19 08:30:06Z",
        "1963-06-19T08:30:06", "1998-12-31T22:59:60Z", "+11963-06-19T08:30:06.283185Z"}},
      {"duration",
       {"P4DT12H30M5S", "P4Y", "PT0S", "P0D", "P1M", "PT1M", "PT36H", "P1DT12H", "P2W", "P1Y2M3D"},
       {"4DT12H30M5S", "PT1D", "P", "P1YT", "PT", "P2D1Y", "P1D2H", "P2S", "P1Y2W", "P1", "P২Y",
        "PT1H1S", "P1.5D", "-P1D", "P1Y1D"}},
      {"email",
       {"joe.bloggs@example.com", "te~st@example.com", "~test@example.com", "a+b@x.org",
        "test~@example.com", "te.s.t@example.co.uk", std::string(64, 'a') + "@example.com"},
       {"2962", ".test@example.com", "test.@example.com", "te..st@example.com", "joe@example",
        "@example.com", "joe@", "joe@-x.com", "joe bloggs@example.com", "joe@[127.0.0.1]",
        "\"joe\"@example.com", "joe@127.0.0.1", "j@x.com@y.com", "jö@example.com",
        std::string(65, 'a') + "@example.com"}},
      {"hostname",
       {"www.example.com", "hostname", "h", "host-name", "h0stn4me", "1host", "hostnam3",
        label63 + ".com", label63 + "." + label63 + "." + label63, "a.b.c.d.e.f.g.h.i.j", "a-b",
        "abc--d"},
       {"-a-host-name-that-starts-with--", "host_name", "not_a_valid_host_name", ".", ".a", "a.",
        "a..b", "-hostname", "hostname-", "_hostname", label63 + "a.com", "host name", "ab--c",
        "xn--4gbwdl.xn--wgbh1c", "hostnäme",
        label63 + "." + label63 + "." + label63 + "." + label63}},
      {"ipv4",
       {"192.168.0.1", "0.0.0.0", "255.255.255.255", "10.20.30.249"},
       {"127.0.0.0.1", "256.256.256.256", "127.0", "0x7f.0.0.1", "2130706433", "087.10.0.1",
        "87.010.0.1", "1২7.0.0.1", "192.168.1.0/24", "1.2.3.4 ", "1.2.3."}},
      {"ipv6",
       {"::1", "::", "::abef", "d6::", "1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7::", "::2:3:4:5:6:7:8",
        "1:2::7:8", "1::8", "::42:ff:1", "::ffff:192.168.0.1", "1:2::192.168.0.1",
        "1::d6:192.168.0.1", "1000:1000:1000:1000:1000:1000:255.255.255.255", "FFFF::aB"},
       {"12345::",
        "1:1:1:1:1:1:1:1:1",
        "::laptop",
        ":2:3:4:5:6:7:8",
        "1:2:3:4:5:6:7:",
        "1::d6::42",
        "1:2:3:4:5:6:7::8",
        "1:2::192.168.256.1",
        "1:2::192.168.ff.1",
        ":::",
        "1:2:3:4:5:::8",
        "1:2:3:4:5:6:7",
        "1",
        "127.0.0.1",
        "1:2:3:4:1.2.3",
        " ::1",
        "fe80::/64",
        "fe80::a%eth1",
        "1000:1000:1000:1000:1000:1000:1000:255.255.255.255",
        "::1:2:3:4:5:6:7:8",
        "100:100:100:100:100:100:100:100:100:100:255.255.255.255"}},
      {"uri",
       {"http://foo.bar/?baz=qux#quux", "http://foo.com/blah_(wikipedia)_blah#cite-1",
        "http://foo.bar/?q=Test%20URL-encoded%20stuff", "http://xn--nw2a.xn--j6w193g/",
        "http://-.~_!$&'()*+,;=:%40:80%2f::::::@example.com", "http://223.255.255.254",
        "ftp://ftp.is.co.za/rfc/rfc1808.txt", "http://www.ietf.org/rfc/rfc2396.txt",
        "ldap://[2001:db8::7]/c=GB?objectClass?one", "mailto:John.Doe@example.com",
        "news:comp.infosystems.www.servers.unix", "tel:+1-816-555-1212",
        "urn:oasis:names:specification:docbook:dtd:xml:4.1.2", "https://example.com:8080/a//b",
        "file:/etc/hosts", "file:///etc/hosts", "file:///", "about:blank"},
       {"//foo.bar/?baz=qux#quux",
        "/abc",
        "\\\\WINDOWS\\fileshare",
        "abc",
        "http:// shouldfail.com",
        ":// should fail",
        "bar,baz:foo",
        "http://foo.bar/%zz",
        "http://a b",
        "1http://x",
        "http:",
        "http://x/ä",
        "http://x/#a#b",
        "http://[::1",
        "http://[1:2]/",
        "http://x:99999/",
        "a:b|c",
        "http://x/\"",
        "http://x/<>",
        "http://x/{}",
        "http://x/^`",
        "http://"}},
      {"uri-reference",
       {"http://foo.bar/?baz=qux#quux", "//foo.bar/?baz=qux#quux", "/abc", "abc", "#fragment", "?q",
        "", "../a/b;c=1", "./a:b", "file:///etc/hosts"},
       {"\\\\WINDOWS\\fileshare", "#frag\\ment", "1a:b", "a b", "/%zz", "é", "#a#b", "//[::1"}},
      {"iri",
       {"http://ƒøø.ßår/?∂éœ=πîx#πîüx", "http://ƒøø.com/blah_(wîkïpédiå)_blah#ßité-1",
        "http://[2001:0db8:85a3:0000:0000:8a2e:0370:7334]", "urn:例え", "http://x/?\uE000"},
       {"http://2001:0db8:85a3:0000:0000:8a2e:0370:7334", "/abc", "\\\\WINDOWS\\filëßåré", "âππ",
        "http://x/\u200E", "http://x/\uE000", "é:x"}},
      {"iri-reference",
       {"http://ƒøø.ßår/?∂éœ=πîx#πîüx", "//ƒøø.ßår/", "/âππ", "âππ", "#ƒrägmênt", ""},
       {"\\\\WINDOWS\\filëßåré", "#ƒräg\\mênt", "é:x"}},
      {"uri-template",
       {"http://example.com/dictionary/{term:1}/{term}", "{?q,lang*}", "{+path}/here", "{%41}",
        "dictionary", "", "/ä"},
       {"http://example.com/{term", "}", "{}", "{a:}", "{a:0}", "{a:10000}", "{a,}", "{a-b}", "a b",
        "%4", "{{a}}", "\"", "{a*:3}"}},
      {"json-pointer",
       {"", "/", "/foo/bar~0/baz~1/%a", "/foo//bar", "/é", "/~1~0", "/ ", "/\""},
       {"a", "#", "#/", "/~", "/~2", "/~0~", "0", "a/a"}},
      {"relative-json-pointer",
       {"0", "1", "0/foo/bar", "2/0/baz/1/zip", "0#", "120/foo"},
       {"/foo/bar", "", "-1/foo", "+1/foo", "0##", "01/a", "01#", "#", "1~0"}},
      {"idn-email",
       {"실례@실례.테스트", "joe.bloggs@example.com", "jörg@müller.de", "用户@例え.jp",
        std::string(64, 'a') + "@example.com"},
       {"2962", "@例え.jp", "a@b@c.jp", "ж@1", "ж..ж@xn.com", "ж@example", "ж ж@example.com"}},
      {"idn-hostname",
       {"실례.테스트", "www.example.com", "münchen", "пример.испытание", "例え.jp"},
       {"〮실례.테스트", "실〮례.테스트", "München", "a..b", ".münchen", "münchen.", "-ü", "ü_",
        "실실실실실실실실실실실실실실실실실실실실실실실실"}},
      {"regex",
       {"", "([abc])+\\s+$", "^[a-z0-9]+(?:-[a-z0-9]+)*$", "a|b|", "\\d{3}-\\d{4,}", "x{2,10}?",
        "[^\\s\\-]", "[-+]?[0-9]*\\.?[0-9]+", "((a)(b(c)))", "é*", "\\u0041\\x41", "[.*+]", "()",
        "^\\/a$"},
       {"^(abc]", "(", ")", "*a", "a**", "a{2,1}", "[z-a]", "[a", "\\", "\\q", "a{", "(?<a", "^*",
        "\\Z", "a{,3}", "[\\", "(?a)"}},
      {"byte",
       {"", "TQ==", "TWE=", "TWFu", "SGVsbG8gd29ybGQ="},
       {"T", "TQ", "TQ=", "TQ===", "TW Fu", "TWFu\n", "TR==", "T_-u", "====", "TQ==TQ=="}},
      {"uuid",
       {"2EB8AA08-AA98-11EA-B4AA-73B441D16380", "2eb8aa08-aa98-11ea-b4aa-73b441d16380",
        "00000000-0000-0000-0000-000000000000"},
       {"2eb8aa08-aa98-11ea-b4aa-73b441d1638", "2eb8aa08-aa98-11ea-73b441d16380",
        "2eb8aa08aa9811eab4aa73b441d16380", "2eb8aa08-aa98-11ea-b4ga-73b441d16380",
        "2eb8-aa08-aa98-11ea-b4aa73b44-1d16380", "{2eb8aa08-aa98-11ea-b4aa-73b441d16380}"}},
  };
  for (const Case& c : cases) {
    for (const std::string& text : c.good)
      EXPECT_TRUE(is(c.format, text)) << c.format << ": " << text;
    for (const std::string& text : c.bad)
      EXPECT_FALSE(is(c.format, text)) << c.format << ": " << text;
  }
}

TEST(Formats, HostsAndMailboxesAreNeverTooLong) {
  constexpr uint64_t kSeed = 16;
  Random random(kSeed);
  for (const std::string_view format : {"hostname", "email"}) {
    const auto dfa = utf8_dfa(*format_dfa(format));
    const RandomWalks walks(*dfa);
    size_t longest = 0;
    for (int round = 0; round < 2000; ++round) {
      const std::string text = walks.text(random, random.below(400));
      longest = std::max(longest, text.size());
      const std::string_view host = std::string_view(text).substr(text.rfind('@') + 1);
      ASSERT_LE(host.size(), 253u) << text;
      ASSERT_LE(text.size(), format == "email" ? 254u : 253u) << text;
      size_t label = 0;
      for (const char c : host) {
        label = c == '.' ? 0 : label + 1;
        ASSERT_LE(label, 63u) << text;
      }
    }
    EXPECT_GT(longest, 150u);
  }
}

TEST(Formats, HaveAllTheirTextsInTheWidestReading) {
  for (const std::string& name : known_formats()) {
    const CharDfa* widest = widest_format_dfa(name);
    if (name == "regex") {
      EXPECT_EQ(widest, nullptr);
      continue;
    }
    ASSERT_NE(widest, nullptr) << name;
    const auto outside = format_dfa(name)->without(*widest);
    ASSERT_TRUE(outside) << name;
    EXPECT_TRUE(outside->empty()) << name;
    EXPECT_NE(*widest, CharDfa::any_text()) << name;
  }
  EXPECT_EQ(widest_format_dfa("tartan"), nullptr);
  EXPECT_EQ(widest_format_dfa("ipv6"), format_dfa("ipv6"));
  EXPECT_TRUE(widest_format_dfa("date")->contains("0000-01-01"));
  EXPECT_FALSE(widest_format_dfa("date")->contains("2024-13-01"));
  EXPECT_TRUE(widest_format_dfa("hostname")->contains("xn--a.b."));
}

}  // namespace
}  // namespace windrow::grammar
