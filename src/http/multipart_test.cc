#include "http/multipart.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/random.h"

namespace windrow::http {
namespace {

struct Part {
  std::string name;
  std::string filename;
  std::string content_type;
  std::string bytes;
  bool ended = false;

  friend bool operator==(const Part&, const Part&) = default;
};

class Parts final : public PartSink {
 public:
  Result<void> begin(const PartHead& head) override {
    parts.push_back({head.name, head.filename.value_or("(none)"), head.content_type, "", false});
    return {};
  }
  Result<void> bytes(std::string_view bytes) override {
    parts.back().bytes += bytes;
    if (parts.back().bytes.size() > bytes_max) return Error{ErrorKind::kDiskFull, "no room"};
    return {};
  }
  Result<void> end() override {
    parts.back().ended = true;
    return {};
  }

  std::vector<Part> parts;
  size_t bytes_max = size_t{1} << 30;
};

constexpr std::string_view kType = "multipart/form-data; boundary=\"a b'c\"";
const std::string kForm =
    "nothing\r\n--a b'c \t\r\n"
    "Content-Disposition: form-data; name=\"purpose\"\r\n\r\nbatch\r\n"
    "--a b'c\r\n"
    "content-type: application/jsonl\r\n"
    "content-disposition: form-data; filename=\"x \\\"y\\\".jsonl\"; name=file\r\n\r\n"
    "one\r\n--a b'\r\n\r\n-- two\r\n--a b'c\r\n"
    "Content-Disposition: form-data; name=\"empty\"\r\n\r\n\r\n"
    "--a b'c--\r\nand nothing\r\n--a b'c\r\n";
const std::vector<Part> kParts = {
    {"purpose", "(none)", "", "batch", true},
    {"file", "x \"y\".jsonl", "application/jsonl", "one\r\n--a b'\r\n\r\n-- two", true},
    {"empty", "(none)", "", "", true}};

TEST(Multipart, IsTheSameWhereverItIsCut) {
  for (size_t size = 1; size <= kForm.size(); ++size) {
    Result<MultipartReader> reader = MultipartReader::of(kType);
    ASSERT_TRUE(reader);
    Parts sink;
    for (size_t at = 0; at < kForm.size(); at += size)
      ASSERT_TRUE(reader->feed(std::string_view(kForm).substr(at, size), sink)) << size;
    EXPECT_TRUE(reader->finish());
    EXPECT_EQ(sink.parts, kParts) << "in pieces of " << size;
  }
}

TEST(Multipart, AFilenameMayBeWrittenInTheExtendedForm) {
  const auto filename = [](std::string_view parameters) {
    Result<MultipartReader> reader = MultipartReader::of("multipart/form-data;boundary=a");
    Parts sink;
    const std::string form = "--a\r\nContent-Disposition: form-data; name=f" +
                             std::string(parameters) + "\r\n\r\nx\r\n--a--";
    EXPECT_TRUE(reader->feed(form, sink));
    EXPECT_TRUE(reader->finish());
    return sink.parts.at(0).filename;
  };
  EXPECT_EQ(filename("; filename*=UTF-8''na%C3%AFve%20a.jsonl"), "naïve a.jsonl");
  EXPECT_EQ(filename("; filename*=utf-8'de'b.jsonl; filename=\"c.jsonl\""), "b.jsonl");
  EXPECT_EQ(filename("; filename=c.jsonl; filename*=UTF-8''%FF"), "\uFFFD");
  EXPECT_EQ(filename("; filename=c.jsonl; filename*=ISO-8859-1''%E4"), "c.jsonl");
  EXPECT_EQ(filename("; filename=c.jsonl; filename*=b.jsonl"), "c.jsonl");
  EXPECT_EQ(filename("; filename*=UTF-8"), "(none)");
}

TEST(Multipart, AFileOfAnyBytesComesAsItIs) {
  constexpr uint64_t kSeed = 7;
  SCOPED_TRACE(kSeed);
  Random random(kSeed);
  constexpr std::string_view kLetters = "\r\n-ab";
  for (int round = 0; round < 300; ++round) {
    std::string file;
    for (uint64_t i = random.below(200); i > 0; --i)
      file += kLetters[random.below(kLetters.size())];
    if (("\r\n" + file + "\r\n--aab").find("\r\n--aab") != file.size() + 2) continue;
    const std::string form =
        "--aab\r\nContent-Disposition: form-data; name=\"f\"\r\n\r\n" + file + "\r\n--aab--";
    Result<MultipartReader> reader = MultipartReader::of("multipart/form-data;boundary=aab");
    ASSERT_TRUE(reader);
    Parts sink;
    for (size_t at = 0; at < form.size();) {
      const size_t size = 1 + random.below(20);
      ASSERT_TRUE(reader->feed(std::string_view(form).substr(at, size), sink));
      at += size;
    }
    ASSERT_TRUE(reader->finish());
    ASSERT_EQ(sink.parts.size(), 1U);
    EXPECT_EQ(sink.parts[0].bytes, file);
  }
}

TEST(Multipart, WhatStopsShortIsRefusedAtTheEnd) {
  const size_t closing = kForm.find("--a b'c--");
  for (size_t size = 0; size < closing + 9; ++size) {
    Result<MultipartReader> reader = MultipartReader::of(kType);
    Parts sink;
    ASSERT_TRUE(reader->feed(std::string_view(kForm).substr(0, size), sink));
    const Result<void> finished = reader->finish();
    ASSERT_FALSE(finished) << size;
    EXPECT_NE(finished.error().message.find("closing boundary"), std::string::npos);
  }
}

TEST(Multipart, WhatIsNoFormIsRefusedAndStaysSo) {
  for (const std::string_view type :
       {"", "application/json", "multipart/form-data",
        "multipart/form-data; boundary=", "multipart/mixed; boundary=a"})
    EXPECT_FALSE(MultipartReader::of(type)) << type;
  EXPECT_FALSE(MultipartReader::of("multipart/form-data; boundary=" + std::string(71, 'a')));

  const std::string head = "--a\r\nContent-Disposition: form-data; name=\"x\"\r\n\r\n\r\n";
  std::string many;
  for (int i = 0; i < 65; ++i)
    many += head;
  for (const auto& [body, what] : std::vector<std::pair<std::string, std::string>>{
           {"--a\r\nContent-Type: x\r\n\r\n\r\n--a--", "no name"},
           {"--a\r\n\r\nbytes\r\n--a--", "no name"},
           {"--a text\r\n", "text behind"},
           {"--a\r\n" + std::string(9000, 'x'), "too long"},
           {many, "too many"}}) {
    Result<MultipartReader> reader = MultipartReader::of("Multipart/Form-Data; boundary=a");
    ASSERT_TRUE(reader);
    Parts sink;
    const Result<void> fed = reader->feed(body, sink);
    ASSERT_FALSE(fed) << what;
    EXPECT_EQ(fed.error().kind, ErrorKind::kInvalid);
    EXPECT_NE(fed.error().message.find(what), std::string::npos) << fed.error().message;
    EXPECT_EQ(reader->feed("--a--", sink).error(), fed.error());
    EXPECT_EQ(reader->finish().error(), fed.error());
  }
}

TEST(Multipart, WhatTheSinkCannotTakeEndsIt) {
  Result<MultipartReader> reader = MultipartReader::of(kType);
  Parts sink;
  sink.bytes_max = 10;
  const Result<void> fed = reader->feed(kForm, sink);
  ASSERT_FALSE(fed);
  EXPECT_EQ(fed.error().kind, ErrorKind::kDiskFull);
  EXPECT_FALSE(sink.parts.back().ended);
}

}  // namespace
}  // namespace windrow::http
