// The scanner against Boost.JSON, on many generated texts. WINDROW_FUZZ_SECONDS makes it run for
// that long; otherwise the number of texts is fixed.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "base/utf8.h"
#include "session/replies/blob_scanner.h"

namespace windrow::session {
namespace {

namespace json = boost::json;

constexpr std::array<std::string_view, 3> kBlobs = {"blob", "rows", "dropped"};
constexpr json::parse_options kOptions{.max_depth = 400};

// Builds the value that it got.
class BuildingSink final : public BlobSink {
 public:
  bool on_text(std::string_view text) override {
    text_ += text;
    is_text_ = true;
    return true;
  }
  bool on_number(int64_t number) override {
    open_.back().emplace_back(number);
    return true;
  }
  bool on_open(size_t depth) override {
    if (depth != open_.size()) return false;
    open_.emplace_back();
    return true;
  }
  bool on_close(size_t depth) override {
    json::array closed = std::move(open_.back());
    open_.pop_back();
    if (depth != open_.size()) return false;
    open_.back().emplace_back(std::move(closed));
    return true;
  }
  bool on_end() override {
    ++ends_;
    return true;
  }

  // Of a blob that is "" or [], only that it ended is known.
  bool equals(const std::optional<json::value>& value) const {
    if (!value) return ends_ == 0 && !is_text_ && open_[0].empty();
    if (ends_ != 1) return false;
    if (value->is_string()) return std::string_view(value->get_string()) == text_;
    return value->get_array() == open_[0] && !is_text_;
  }

  bool is_utf8() const { return utf8_repair(text_) == text_; }

 private:
  std::string text_;
  bool is_text_ = false;
  std::vector<json::array> open_ = std::vector<json::array>(1);
  int ends_ = 0;
};

class TextMaker {
 public:
  explicit TextMaker(Random& random) : random_(random) {}

  std::string document() {
    text_.clear();
    space();
    random_.chance(0.8) ? object(4) : array(4);
    space();
    return std::move(text_);
  }

 private:
  void space() {
    while (random_.chance(0.1))
      text_ += " \n\t\r"[random_.below(4)];
  }

  void character() {
    switch (random_.below(12)) {
      case 0: {
        constexpr std::array<std::string_view, 8> kEscapes = {R"(\")", R"(\\)", R"(\/)", R"(\n)",
                                                              R"(\b)", R"(\f)", R"(\r)", R"(\t)"};
        text_ += kEscapes[random_.below(kEscapes.size())];
        break;
      }
      case 1:
        text_ += fmt::format("\\u{:04x}", random_.below(0xD800));
        break;
      case 2:
        text_ += fmt::format("\\u{:04X}\\u{:04x}", 0xD800 + random_.below(0x400),
                             0xDC00 + random_.below(0x400));
        break;
      case 3:
        text_ += "\u00e9\u20ac\U0001F600";
        break;
      case 4:
        text_ += "{}[]:,"[random_.below(6)];
        break;
      default:
        text_.append(random_.below(90), static_cast<char>('a' + random_.below(26)));
    }
  }

  void string() {
    text_ += '"';
    for (uint64_t i = random_.below(4); i > 0; --i)
      character();
    text_ += '"';
  }

  // A name that the object has not: Boost.JSON keeps the last of several members of one name.
  void key(uint64_t index) {
    if (index < kBlobs.size() && random_.chance(0.5)) {
      const std::string_view name = kBlobs[index];
      if (random_.chance(0.8)) {
        text_ += fmt::format("\"{}\"", name);
      } else {
        text_ += fmt::format("\"\\u{:04x}{}\"", name[0], name.substr(1));
      }
      return;
    }
    text_ += fmt::format("\"{}{}{}\"", random_.chance(0.1) ? R"(\"\\)" : "", "k", index);
  }

  void object(int depth) {
    text_ += '{';
    const uint64_t members = random_.below(5);
    for (uint64_t i = 0; i < members; ++i) {
      if (i > 0) text_ += ',';
      space();
      key(i);
      space();
      text_ += ':';
      space();
      random_.chance(0.3) ? numbers(3) : value(depth - 1);
      space();
    }
    if (members == 0) space();
    text_ += '}';
  }

  void array(int depth) {
    text_ += '[';
    const uint64_t elements = random_.below(4);
    for (uint64_t i = 0; i < elements; ++i) {
      if (i > 0) text_ += ',';
      space();
      value(depth - 1);
      space();
    }
    text_ += ']';
  }

  // What may be a blob.
  void numbers(int depth) {
    text_ += '[';
    for (uint64_t i = random_.below(6); i > 0; --i) {
      space();
      if (depth > 0 && random_.chance(0.3)) {
        numbers(depth - 1);
      } else if (random_.chance(0.05)) {
        text_ += random_.chance(0.5) ? "9223372036854775807" : "-9223372036854775808";
      } else {
        text_ += fmt::format("{}", random_.between(-300, 300));
      }
      space();
      if (i > 1) text_ += ',';
    }
    text_ += ']';
  }

  void value(int depth) {
    switch (random_.below(depth > 0 ? 10 : 6)) {
      case 0:
        text_ += "null";
        return;
      case 1:
        text_ += random_.chance(0.5) ? "true" : "false";
        return;
      case 2:
        text_ += fmt::format("{}", random_.between(-1000, 1000));
        return;
      case 3:
        text_ += fmt::format("{}", random_.unit() * 1e3);
        return;
      case 4:
      case 5:
        return string();
      case 6:
        return array(depth);
      default:
        return object(depth);
    }
  }

  Random& random_;
  std::string text_;
};

// Some edits, of what matters to the scanner.
void mutate(Random& random, std::string& text) {
  constexpr std::string_view kMarks = "{}[]:,\"\\u0-1.e \n\x01\xC3\xFF/nD";
  for (uint64_t i = 1 + random.below(3); i > 0; --i) {
    const size_t at = random.below(text.size() + 1);
    switch (random.below(5)) {
      case 0:
        text.insert(at, 1, kMarks[random.below(kMarks.size())]);
        break;
      case 1:
        if (at < text.size()) text[at] = kMarks[random.below(kMarks.size())];
        break;
      case 2:
        text.erase(at, 1 + random.below(3));
        break;
      case 3:
        text.insert(at, text.substr(random.below(text.size() + 1), random.below(12)));
        break;
      default:
        text.resize(at);
    }
  }
}

// Takes the blobs out of a parsed text, in the order of the text.
void take_blobs(json::value& value, std::array<std::optional<json::value>, kBlobs.size()>& blobs) {
  if (auto* array = value.if_array()) {
    for (json::value& element : *array)
      take_blobs(element, blobs);
  }
  auto* object = value.if_object();
  if (object == nullptr) return;
  for (auto& member : *object) {
    json::value& content = member.value();
    const auto* name = std::find(kBlobs.begin(), kBlobs.end(), std::string_view(member.key()));
    if (name == kBlobs.end() || !(content.is_string() || content.is_array())) {
      take_blobs(content, blobs);
      continue;
    }
    auto& blob = blobs[static_cast<size_t>(name - kBlobs.begin())];
    if (!blob) blob = content;
    content = nullptr;
  }
}

struct Scan {
  std::array<BuildingSink, 2> sinks;
  BlobScanner scanner{{{kBlobs[0], &sinks[0]}, {kBlobs[1], &sinks[1]}, {kBlobs[2], nullptr}},
                      1'000'000};

  // In pieces, each of which is a copy of its own, so that reading outside of it is found.
  void feed(Random& random, std::string_view text) {
    const size_t most = 1 + random.below(random.chance(0.5) ? 4 : 300);
    while (!text.empty()) {
      const std::string_view piece = text.substr(0, 1 + random.below(most));
      const std::vector<char> bytes(piece.begin(), piece.end());
      if (!scanner.take({bytes.data(), bytes.size()})) return;
      text.remove_prefix(piece.size());
    }
  }
};

class Rounds {
 public:
  // `count` rounds, or as long as WINDROW_FUZZ_SECONDS says.
  explicit Rounds(uint64_t count) : count_(count) {
    if (const char* text = std::getenv("WINDROW_FUZZ_SECONDS")) {
      until_ = clock_.now() + std::chrono::seconds(std::atoi(text));
      count_ = 0;
    }
  }

  bool another(uint64_t round) const { return count_ > 0 ? round < count_ : clock_.now() < until_; }

 private:
  SystemClock clock_;
  TimePoint until_;
  uint64_t count_;
};

TEST(BlobScannerFuzz, RestAndBlobsAreWhatAPlainParserFinds) {
  const Rounds rounds(20'000);
  uint64_t with_blobs = 0;
  uint64_t round = 0;
  for (; rounds.another(round); ++round) {
    Random random(round);
    const std::string text = TextMaker(random).document();
    Scan scan;
    scan.feed(random, text);
    std::array<std::optional<json::value>, kBlobs.size()> blobs;
    json::value plain = json::parse(text, {}, kOptions);
    take_blobs(plain, blobs);
    const std::string place = fmt::format("seed {}: {}", round, text);
    // A list that is a blob by its name alone may have anything.
    if (scan.scanner.state() == BlobScanner::State::kRefused) continue;
    ASSERT_EQ(scan.scanner.state(), BlobScanner::State::kWhole) << place;
    ASSERT_EQ(json::parse(scan.scanner.rest(), {}, kOptions), plain) << place;
    ASSERT_TRUE(scan.sinks[0].equals(blobs[0])) << place;
    ASSERT_TRUE(scan.sinks[1].equals(blobs[1])) << place;
    if (blobs[0] || blobs[1]) ++with_blobs;
  }
  EXPECT_GT(with_blobs, round / 4) << "the texts have too few blobs to find anything";
}

TEST(BlobScannerFuzz, AcceptsOnlyWhatAPlainParserAccepts) {
  const Rounds rounds(40'000);
  uint64_t accepted = 0;
  uint64_t round = 0;
  for (; rounds.another(round); ++round) {
    Random random(round + 1'000'000);
    std::string text = TextMaker(random).document();
    mutate(random, text);
    Scan scan;
    scan.feed(random, text);
    json::error_code error;
    const json::value plain = json::parse(text, error, {}, kOptions);
    const bool is_json = !error && (plain.is_object() || plain.is_array());
    bool is_accepted = false;
    if (scan.scanner.state() == BlobScanner::State::kWhole) {
      json::parse(scan.scanner.rest(), error, {}, kOptions);
      is_accepted = !error;
    }
    const std::string place = fmt::format("seed {}: {}", round + 1'000'000, text);
    if (is_accepted) {
      ++accepted;
      // Sinks check the encoding of texts, and nothing looks at what is dropped.
      const bool is_utf8 = utf8_repair(text) == text;
      ASSERT_TRUE(is_json || !is_utf8) << place;
    } else if (is_json) {
      ASSERT_EQ(scan.scanner.state(), BlobScanner::State::kRefused) << place;
    }
  }
  EXPECT_GT(accepted, round / 20) << "the texts are too wild to find anything";
  EXPECT_LT(accepted, round - round / 4) << "the texts are too tame to find anything";
}

}  // namespace
}  // namespace windrow::session
