#include "api/keys/keys.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/crypto.h"
#include "base/hash.h"
#include "store/posix_disk.h"
#include "store/testing/memory_disk.h"

namespace windrow::api {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string line_of(std::string_view name, std::string_view key, std::string_view limits = "") {
  Sha256 hash;
  hash.add(key);
  return fmt::format("{} sha256:{} {}\n", name, hash.finish(), limits);
}

KeyRing ring_of(std::string_view text) {
  Result<KeyRing> ring = KeyRing::parse(text, "keys");
  EXPECT_TRUE(ring.has_value()) << ring.error().message;
  return ring ? *std::move(ring) : KeyRing();
}

std::string problem(std::string_view text) {
  const Result<KeyRing> ring = KeyRing::parse(text, "keys");
  return ring ? "accepted" : ring.error().message;
}

TEST(KeyRing, FindsAKeyByItsTextAlone) {
  const KeyRing ring = ring_of("# who\n\n" + line_of("alice", "one") +
                               line_of("bob", "two", "rpm=6 tpm=70 in-flight=8 priority=batch") +
                               "\t" + line_of("m@x-1._", "three", "admin weight=20 # sees all"));
  ASSERT_EQ(ring.keys().size(), 3U);
  EXPECT_EQ(ring.find("one"), 0U);
  EXPECT_EQ(ring.find("two"), 1U);
  EXPECT_EQ(ring.find("three"), 2U);
  for (const std::string_view other : {"", "on", "one ", "One", "alice", "four"})
    EXPECT_EQ(ring.find(other), std::nullopt) << other;
  EXPECT_TRUE(ring.demands_keys());
  EXPECT_EQ(ring.keys()[0].limits, KeyLimits{});
  EXPECT_EQ(ring.keys()[1].limits, (KeyLimits{6, 70, 8, dispatch::Priority::kBatch}));
  EXPECT_FALSE(ring.keys()[1].admin);
  EXPECT_EQ(ring.keys()[1].limits.weight, 1);
  EXPECT_TRUE(ring.keys()[2].admin);
  EXPECT_EQ(ring.keys()[2].limits.weight, 20);
  EXPECT_FALSE(KeyRing().demands_keys());
}

TEST(KeyRing, ReadsWindowsLineEndsAndLargeDigits) {
  Sha256 hash;
  hash.add("one");
  std::string digits = hash.finish();
  for (char& c : digits) {
    if (c >= 'a') c = static_cast<char>(c - 'a' + 'A');
  }
  EXPECT_EQ(ring_of("a sha256:" + digits + " rpm=1\r\n").find("one"), 0U);
}

TEST(KeyRing, MistakesHaveTheirLineAndRepeatNothingSecret) {
  const std::string good = line_of("alice", "one");
  EXPECT_THAT(problem(good + "# c\nbob wr-secretsecret\n"),
              AllOf(StartsWith("keys:3: "), HasSubstr("sha256:"), Not(HasSubstr("secret"))));
  EXPECT_THAT(problem(good + "wr-secret+secret\n"),
              AllOf(StartsWith("keys:2: "), HasSubstr("name"), Not(HasSubstr("secret"))));
  EXPECT_THAT(problem("alice\n"), StartsWith("keys:1: behind the name"));
  EXPECT_THAT(problem("alice sha256:12\n"), HasSubstr("64 hexadecimal digits"));
  EXPECT_THAT(problem("alice sha256:" + std::string(63, '0') + "g\n"), HasSubstr("64 hexadecimal"));
  for (const std::string_view limit :
       {"rpm=0", "rpm=-1", "rpm=", "rpm=1x", "rpm=1.5", "rpm", "RPM=1", "tpm=1000000000001",
        "in-flight=99999999999999999999", "weight=0", "weight=1001", "priority=high", "Admin",
        "admin=yes", "x=1", "=1"}) {
    EXPECT_THAT(problem(line_of("a", "one", limit)),
                AllOf(StartsWith("keys:1: word 3 is no limit"), HasSubstr("in-flight=N")))
        << limit;
  }
  EXPECT_THAT(problem(line_of("a", "one", "rpm=1 tpm=1 rpm=1")), HasSubstr("rpm is given twice"));
  EXPECT_THAT(problem(line_of(std::string(65, 'a'), "one")), HasSubstr("1 to 64"));
  EXPECT_THAT(problem(good + line_of("alice", "two")),
              AllOf(StartsWith("keys:2: "), HasSubstr("in line 1")));
  EXPECT_THAT(problem(good + "\n" + line_of("bob", "one")),
              AllOf(StartsWith("keys:3: "), HasSubstr("key of line 1")));
}

TEST(KeyRing, AFileWithoutKeysAdmitsNoRequest) {
  for (const std::string_view text : {"", "\n\n", "# alice sha256:...\n", " \t\r\n"}) {
    const KeyRing ring = ring_of(text);
    EXPECT_TRUE(ring.demands_keys()) << text;
    EXPECT_TRUE(ring.keys().empty()) << text;
    EXPECT_EQ(ring.find(""), std::nullopt) << text;
  }
}

TEST(PresentedKey, IsTheBearersOrXApiKey) {
  const auto key = [](std::initializer_list<http::Headers::Field> fields) {
    const http::Headers headers(fields);
    return std::string(presented_key(headers));
  };
  EXPECT_EQ(key({}), "");
  EXPECT_EQ(key({{"authorization", "Bearer abc"}}), "abc");
  EXPECT_EQ(key({{"Authorization", "bearer   abc"}}), "abc");
  EXPECT_EQ(key({{"X-API-Key", "abc"}}), "abc");
  EXPECT_EQ(key({{"X-Api-Key", "x"}, {"Authorization", "Bearer abc"}}), "abc");
  EXPECT_EQ(key({{"X-Api-Key", "x"}, {"Authorization", "Basic abc"}}), "x");
  EXPECT_EQ(key({{"Authorization", "Bearer "}}), "");
  EXPECT_EQ(key({{"Authorization", "Bearerabc"}}), "");
}

TEST(MakeKey, MakesALineThatKnowsTheKey) {
  const auto made = make_key("alice", " rpm=5  admin ", secret_bytes(32));
  ASSERT_TRUE(made.has_value());
  EXPECT_EQ(made->key.size(), 46U);
  EXPECT_THAT(made->key, StartsWith("wr-"));
  EXPECT_EQ(made->key.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                        "0123456789-_"),
            std::string::npos);
  EXPECT_THAT(made->line, Not(HasSubstr(made->key.substr(3))));
  const KeyRing ring = ring_of(made->line);
  EXPECT_EQ(ring.find(made->key), 0U);
  EXPECT_EQ(ring.keys()[0].limits.requests_per_minute, 5);
  EXPECT_TRUE(ring.keys()[0].admin);
}

// RFC 4648's alphabet for urls, told apart from the other one.
TEST(MakeKey, WritesItsChanceAsBase64Url) {
  EXPECT_EQ(make_key("a", "", std::string(32, '\xFF'))->key, "wr-" + std::string(42, '_') + "8");
  EXPECT_EQ(make_key("a", "", std::string(32, '\0'))->key, "wr-" + std::string(43, 'A'));
  EXPECT_EQ(make_key("a", "", "\xFB" + std::string(31, '\0'))->key, "wr--w" + std::string(41, 'A'));
}

TEST(MakeKey, RefusesWhatTheFileCannotHave) {
  EXPECT_FALSE(make_key("", "", std::string(32, 'x')).has_value());
  EXPECT_FALSE(make_key("a b", "", std::string(32, 'x')).has_value());
  EXPECT_FALSE(make_key("a\nb", "", std::string(32, 'x')).has_value());
  EXPECT_THAT(make_key("a", "rpm=x", std::string(32, 'x')).error().message,
              HasSubstr("word 1 is no limit"));
}

TEST(WithKey, AddsOneLine) {
  const NewKey one = *make_key("one", "", secret_bytes(32));
  const NewKey two = *make_key("two", "", secret_bytes(32));
  const std::string first = *with_key("# ours", "keys", one);
  EXPECT_EQ(first, "# ours\n" + one.line + "\n");
  EXPECT_EQ(*with_key(first, "keys", two), first + two.line + "\n");
  EXPECT_EQ(*with_key("", "keys", two), two.line + "\n");
  const Result<std::string> again = with_key(first, "keys", *make_key("one", "", secret_bytes(32)));
  EXPECT_EQ(again.error().kind, ErrorKind::kConflict);
  EXPECT_THAT(again.error().message, HasSubstr("keys has a key one"));
  EXPECT_THAT(with_key("x y\n", "keys", one).error().message, StartsWith("keys:1: "));
}

TEST(KeyFile, OtherKeysHoldOnceTheFileChanged) {
  store::testing::MemoryDisk disk;
  EXPECT_THAT(KeyFile::open(disk, "keys").error().message, HasSubstr("windrow keys add keys"));
  disk.put("keys", line_of("alice", "one"));
  const auto file = *KeyFile::open(disk, "keys");
  const auto before = file->keys()->now();
  EXPECT_EQ(*file->refresh(), false);
  EXPECT_EQ(file->keys()->now(), before);

  disk.put("keys", line_of("bob", "two"));
  EXPECT_EQ(*file->refresh(), true);
  EXPECT_EQ(file->keys()->now()->find("one"), std::nullopt);
  EXPECT_EQ(file->keys()->now()->find("two"), 0U);
  EXPECT_EQ(before->find("one"), 0U) << "who had taken a reading keeps it";
}

TEST(KeyFile, AMistakeLeavesTheKeysFromBefore) {
  store::testing::MemoryDisk disk;
  const std::string good = line_of("alice", "one");
  disk.put("keys", good);
  const auto file = *KeyFile::open(disk, "keys");
  disk.put("keys", "alice\n");
  EXPECT_THAT(file->refresh().error().message, StartsWith("keys:"));
  EXPECT_EQ(*file->refresh(), false) << "told once";
  EXPECT_EQ(file->keys()->now()->find("one"), 0U);
  ASSERT_TRUE(disk.remove("keys"));
  EXPECT_FALSE(file->refresh().has_value());
  EXPECT_EQ(file->keys()->now()->find("one"), 0U);

  disk.put("keys", good);
  EXPECT_EQ(*file->refresh(), false) << "as it was before the mistakes";
  disk.put("keys", "alice\n");
  EXPECT_FALSE(file->refresh().has_value()) << "a mistake that was mended is told again";
}

TEST(KeyFile, AnEmptiedFileRevokesTheLastKey) {
  store::testing::MemoryDisk disk;
  disk.put("keys", line_of("alice", "one"));
  const auto file = *KeyFile::open(disk, "keys");
  disk.put("keys", "# nobody\n");
  EXPECT_EQ(*file->refresh(), true);
  EXPECT_TRUE(file->keys()->now()->demands_keys());
  EXPECT_EQ(file->keys()->now()->find("one"), std::nullopt);
  EXPECT_TRUE(KeyFile::open(disk, "keys").has_value()) << "also at the next start";
}

TEST(KeyFile, WarnsWhereOthersMayReadIt) {
  namespace fs = std::filesystem;
  store::PosixDisk disk;
  const std::string path = ::testing::TempDir() + "keys_" + to_hex(hash64(secret_bytes(8)));
  ASSERT_TRUE(disk.write_atomically(path, line_of("alice", "one")));
  const auto file = *KeyFile::open(disk, path);
  fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(file->warning(), "");
  fs::permissions(path, fs::perms::group_read, fs::perm_options::add);
  EXPECT_EQ(file->warning(), "");
  fs::permissions(path, fs::perms::others_read, fs::perm_options::add);
  EXPECT_THAT(file->warning(), AllOf(HasSubstr("may be read by other"), HasSubstr("chmod 600")));
  fs::permissions(path, fs::perms::group_write, fs::perm_options::add);
  EXPECT_THAT(file->warning(), HasSubstr("may be written by other"));
  fs::remove(path);
}

}  // namespace
}  // namespace windrow::api
