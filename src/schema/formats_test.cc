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
  };
  EXPECT_EQ(cases.size(), 10U);
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
