#include "schema/formats.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace windrow::schema {
namespace {

struct Case {
  Format format;
  std::vector<std::string_view> fits;
  std::vector<std::string_view> violates;
};

const std::string kLong63(63, 'a');
const std::string kLong64(64, 'a');
const std::string kLong253 = kLong63 + "." + kLong63 + "." + kLong63 + "." + std::string(61, 'a');
const std::string kLong254 = kLong253 + "a";
const std::string kLocal64 = kLong64 + "@example.com";
const std::string kLocal65 = kLong64 + "a@example.com";

TEST(Formats, EachIsReadByItsStandard) {
  const std::vector<Case> cases = {
      {Format::kDate,
       {"1963-06-19", "2000-02-29", "2024-02-29", "0000-01-01", "9999-12-31"},
       {"", "1900-02-29", "2023-02-29", "2024-04-31", "2024-00-10", "2024-13-01", "2024-01-00",
        "2024-01-32", "24-01-01", "2024-1-01", "2024-01-1", "2024-01-01 ", "06/19/1963",
        "12024-01-01", "2024-01-01T00:00:00Z", "2024-350", "20240101",
        "\xD9\xA2"
        "024-01-01"}},
      {Format::kTime,
       {"08:30:06Z", "08:30:06.283185Z", "00:00:00+00:00", "23:59:60Z", "01:29:60+01:30",
        "15:59:60-08:00", "23:29:60+23:30", "00:29:60-23:30", "08:30:06z"},
       {"", "08:30:06", "24:00:00Z", "08:60:00Z", "08:30:61Z", "22:59:60Z", "23:58:60Z",
        "23:59:60+01:00", "08:30:06.Z", "8:30:06Z", "08:30Z", "08:30:06+24:00", "08:30:06+01:60",
        "08:30:06+1:00", "08:30:06+0100", "08:30:06 Z", "08:30:06Zx", "08:30:06-"}},
      {Format::kDateTime,
       {"1963-06-19T08:30:06.283185Z", "1990-12-31T15:59:50.123-08:00", "1998-12-31T23:59:60Z",
        "1998-12-31T15:59:60.123-08:00", "1963-06-19t08:30:06z"},
       {"", "1963-06-19", "1963-06-19 08:30:06Z", "1990-02-31T15:59:59.123-08:00",
        "1990-12-31T15:59:59-24:00", "1963-06-19T08:30:06", "1998-12-31T23:58:60Z",
        "2013-350T01:01:01Z", "1963-06-19T"}},
      {Format::kDuration,
       {"P4DT12H30M5S", "P4Y", "PT0S", "P1M", "P1Y2M3D", "PT36H", "P2W", "PT1M", "P0D", "P1Y2M",
        "PT1H2M", "P1MT2S"},
       {"", "P", "PT", "4DT12H", "P4DT", "P2D1Y", "P1D2H", "P1Y2W", "P1W2D", "P1Y3D", "PT1H3S",
        "PT1.5S", "P-1D", "P1", "PT1D", "p1d", "P1D "}},
      {Format::kEmail,
       {"joe.bloggs@example.com", "te~st@example.com", "~test@example.com", "a@b",
        "\"joe bloggs\"@example.com", "\"joe..bloggs\"@example.com", "\"a\\\"b@c\"@example.com",
        "joe@[127.0.0.1]", "joe@[IPv6:::1]", "a+b=c/d@example.com", kLocal64},
       {"", "2962", "@example.com", "joe@", ".joe@example.com", "joe.@example.com",
        "jo..e@example.com", "joe bloggs@example.com", "joe@example..com", "joe@-example.com",
        "joe@[127.0.0.300]", "joe@[IPv6:x]", "joe@exa mple.com", "joe@a@b", "\"joe@example.com",
        "j\xC3\xB6"
        "e@example.com",
        "joe@[127.0.0.1", "joe@inv=lid.com", kLocal65}},
      {Format::kHostname,
       {"www.example.com", "xn--4gbwdl.xn--wgbh1c", "a", "1a", "a-b", "a--b", "123", kLong63,
        kLong253},
       {"", "-a.example", "a-.example", "a_b", "a b", "a..b", ".a", "a.", "\xC3\xA9.example",
        kLong64, kLong254}},
      {Format::kIpv4,
       {"192.168.0.1", "0.0.0.0", "255.255.255.255"},
       {"", "127.0.0.0.1", "256.1.1.1", "127.0", "0x7f000001", "2130706433", "087.10.0.1",
        "1.2.3.4 ", " 1.2.3.4", "1.2.3.", ".1.2.3", "1..2.3", "1.2.3.4/24", "1.2.3.\xD9\xA2",
        "1.2.3.0004"}},
      {Format::kIpv6,
       {"::1", "::", "::abef", "1:2:3:4:5:6:7:8", "1::", "::42:ff:1", "d6::", "1:d6::42",
        "1::d6:192.168.0.1", "::ffff:192.168.0.1", "1:2:3:4:5:6:192.168.0.1", "FE80::abcd",
        "1:2:3:4:5:6:7::", "::2:3:4:5:6:7:8"},
       {"",
        "12345::",
        "1:1:1:1:1:1:1:1:1",
        "1:2:3:4:5:6:7",
        "::laptop",
        ":2:3:4:5:6:7:8",
        "1:2:3:4:5:6:7:",
        ":1",
        "1::d6::42",
        "1::2:192.168.256.1",
        "1::2:192.168.ff.1",
        ":::1",
        "1:2:3:4:5:::8",
        "127.0.0.1",
        "fe80::a%eth1",
        "fe80::/64",
        " ::1",
        "::1 ",
        "1:2:3:4:5:6:7:192.168.0.1",
        "100:100:100:100:100:100:255.255.255.255.255",
        ":",
        "1:",
        "1:2:3:4::5:6:7:8"}},
      {Format::kUri,
       {"http://foo.bar/?baz=qux#quux", "http://foo.com/blah_(wikipedia)_blah#cite-1", "urn:a",
        "http://foo.bar/?q=Test%20URL-encoded%20stuff", "http://xn--nw2a.xn--j6w193g/",
        "http://-.~_!$&'()*+,;=:%40:80%2f::::::@example.com", "http://223.255.255.254",
        "ftp://ftp.is.co.za/rfc/rfc1808.txt", "ldap://[2001:db8::7]/c=GB?objectClass?one",
        "mailto:John.Doe@example.com", "tel:+1-816-555-1212", "urn:oasis:names:DocBook:4.1.2",
        "http://a:80", "http://a:", "file:///etc/passwd", "a:", "http://[v1.x:y]/", "x:/a//b"},
       {"",
        "//foo.bar/?baz=qux#quux",
        "/abc",
        "\\\\WINDOWS\\share",
        "abc",
        "http:// shouldfail.com",
        ":// should fail",
        "bar,baz:foo",
        "http://a b",
        "http://a/<b>",
        "http://a/%zz",
        "http://a/%4",
        "1a:b",
        "http://[::1",
        "http://[::x]/",
        "http://a:b/",
        "http://a#b#c",
        "http://a/\"b\"",
        "http://ex\xC3\xA9.com",
        "http://a/{b}",
        "http://[a]/",
        "http://a@b@c/",
        "http://[::1]x/"}},
      {Format::kUuid,
       {"2eb8aa08-aa98-11ea-b4aa-73b441d16380", "2EB8AA08-AA98-11EA-B4AA-73B441D16380",
        "00000000-0000-0000-0000-000000000000"},
       {"", "2eb8aa08-aa98-11ea-b4aa-73b441d1638", "2eb8aa08-aa98-11ea-73b441d16380",
        "2eb8aa08-aa98-11ea-b4ga-73b441d16380", "2eb8aa08aa9811eab4aa73b441d16380",
        "2eb8-aa08-aa98-11ea-b4aa73b44-1d16380", "2eb8aa08-aa98-11ea-b4aa-73b441d16380x",
        "{2eb8aa08-aa98-11ea-b4aa-73b441d16380}", "2eb8aa08-aa98-11ea-b4aa-73b441d163801"}},
      {Format::kUriReference,
       {"", "http://foo.bar/?baz=qux#quux", "//foo.bar/", "/abc", "abc", "#fragment", "?q",
        "../a/b;c=1", "./a:b", "file:///etc/hosts", "a:"},
       {"\\\\WINDOWS\\fileshare", "#frag\\ment", "1a:b", "a b", "/%zz", "\xC3\xA9", "#a#b",
        "//[::1"}},
      {Format::kIri,
       {"http://\xC6\x92\xC3\xB8.com/?\xE2\x88\x82=\xCF\x80#\xC3\xBC", "http://[::1]/",
        "http://x/?\xEE\x80\x80"},
       {"http://2001:0db8:85a3:0000:0000:8a2e:0370:7334", "/abc", "\\\\W\\fil\xC3\xAB",
        "http://x/\xEE\x80\x80", "\xC3\xA9:x"}},
      {Format::kIriReference,
       {"", "/\xC3\xA2\xCF\x80", "\xC3\xA2\xCF\x80", "#fr\xC3\xA4g"},
       {"\\\\W\\fil\xC3\xAB", "#fr\xC3\xA4g\\m", "\xC3\xA9:x"}},
      {Format::kUriTemplate,
       {"", "http://example.com/{term:1}/{term}", "{?q,lang*}", "{+path}/here", "{%41}", "{a.b}"},
       {"http://example.com/{term", "}", "{}", "{a:}", "{a:0}", "{a:10000}", "{a,}", "{a-b}", "a b",
        "%4", "{{a}}", "{a*:3}", "{a.}", "{.a.}"}},
      {Format::kJsonPointer,
       {"", "/", "/foo/bar~0/baz~1/%a", "/foo//bar", "/~1~0", "/ "},
       {"a", "#", "#/", "/~", "/~2", "/~0~", "0", "a/a"}},
      {Format::kRelativeJsonPointer,
       {"0", "1", "0/foo/bar", "0#", "120/foo", "0+1/a", "1-2#"},
       {"/foo/bar", "", "-1/foo", "+1/foo", "0##", "01/a", "01#", "#", "0+0", "0-/a"}},
      {Format::kRegex,
       {"", "([abc])+\\s+$", "^(?!a)(?=b)(?<!c)(?<=d)", "(?<name>a)\\k<name>\\1", "a|b|",
        "x{2,10}?", "[^\\s\\-]", "[.*+]", "()", "\\u0041\\u{1F600}\\x41\\cA\\0",
        "\\p{L}\\P{Script=Greek}", "^\\/a$", "\\bword\\B", "[\\w-]", "[--0]"},
       {"^(abc]", "(",      ")",       "*a",   "a**", "a{2,1}",      "[z-a]", "[a",  "\\",
        "\\q",    "a{",     "a{b}",    "(?<a", "^*",  "\\Z",         "a{,3}", "[\\", "(?a)",
        "(?=a)*", "\\2(a)", "[\\w-a]", "}",    "]",   "\\u{110000}", "\\p",   "\\b+"}},
      {Format::kByte,
       {"", "TQ==", "TWE=", "TWFu", "SGVsbG8gd29ybGQ=", "TR=="},
       {"T", "TQ", "TQ=", "TQ===", "TW Fu", "TWFu\n", "T_-u", "====", "TQ==TQ=="}},
      {Format::kIdnEmail,
       {"\xEC\x8B\xA4@\xEC\x8B\xA4.\xED\x85\x8C", "joe.bloggs@example.com", kLocal64},
       {"2962", "@a.jp", "a@b@c.jp", "\xD0\xB6..a@x.com", "\xD0\xB6 a@example.com"}},
      {Format::kIdnHostname,
       {"\xEC\x8B\xA4\xEB\xA1\x80.\xED\x85\x8C", "www.example.com", "m\xC3\xBCnchen", kLong253},
       {"", "a..b", ".m\xC3\xBC", "m\xC3\xBC.", "-\xC3\xBC", "\xC3\xBC_", kLong254}},
  };
  EXPECT_EQ(cases.size(), 20U);
  for (const Case& one : cases) {
    EXPECT_EQ(format_of(to_string(one.format)), one.format);
    for (const std::string_view text : one.fits)
      EXPECT_TRUE(conforms(one.format, text)) << to_string(one.format) << ": " << text;
    for (const std::string_view text : one.violates)
      EXPECT_FALSE(conforms(one.format, text)) << to_string(one.format) << ": " << text;
  }
  EXPECT_FALSE(format_of("tartan"));
}

}  // namespace
}  // namespace windrow::schema
