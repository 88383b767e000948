// The line reader against a plain split, on many generated inputs. WINDROW_FUZZ_SECONDS makes it
// run for that long; otherwise the number of inputs is fixed.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "base/clock.h"
#include "base/random.h"
#include "batch/line_source.h"
#include "batch/row_reader.h"
#include "batch/testing/memory_input.h"
#include "batch/testing/naive_lines.h"

namespace windrow::batch {
namespace {

constexpr LineLimits kLimits{.line_bytes_max = 40, .too_long_bytes_kept = 8};

// Mutated JSONL: mostly lines a person could have meant.
std::string some_text(Random& random) {
  std::string text;
  if (random.chance(0.1)) text += "\xEF\xBB\xBF";
  const int64_t lines = random.between(0, 12);
  for (int64_t i = 0; i < lines; ++i) {
    switch (random.below(7)) {
      case 0:
        break;
      case 1:
        text += " \t"[random.below(2)];
        break;
      case 2:
        text += std::string(random.below(100), static_cast<char>('a' + random.below(26)));
        break;
      default:
        text += fmt::format(R"({{"custom_id":"{}","body":{{}}}})", random.below(5));
    }
    if (random.chance(0.2)) text += '\r';
    if (i + 1 < lines || random.chance(0.7)) text += '\n';
  }
  for (int64_t i = random.between(-3, 4); i > 0 && !text.empty(); --i) {
    const size_t at = random.below(text.size());
    switch (random.below(4)) {
      case 0:
        text[at] = static_cast<char>(random.below(256));
        break;
      case 1:
        text.erase(at, random.below(8));
        break;
      case 2:
        text.insert(at, text.substr(random.below(text.size()), random.below(20)));
        break;
      default:
        text.insert(at, 1, "\n\r\0\"{"[random.below(5)]);
    }
  }
  return text;
}

// Bytes that announce another encoding or packer mean something else.
bool is_plain(const std::string& text) {
  testing::MemoryInput input(text.substr(0, 8));
  auto source = open_lines(input, kLimits);
  return testing::read_lines(**source).error.empty();
}

class Deadline {
 public:
  // `count` rounds, or as long as WINDROW_FUZZ_SECONDS says.
  explicit Deadline(uint64_t count) : count_(count) {
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

TEST(LineSourceFuzz, FindsTheLinesAPlainSplitFinds) {
  const Deadline deadline(40'000);
  for (uint64_t seed = 0; deadline.another(seed); ++seed) {
    Random random(seed);
    const std::string text = some_text(random);
    if (!is_plain(text)) continue;
    testing::MemoryInput input(text, {.piece_bytes = 1 + random.below(70)});
    auto source = open_lines(input, kLimits);
    const testing::ReadLines read = testing::read_lines(**source);
    ASSERT_EQ(read.error, "") << "seed " << seed;
    ASSERT_EQ(read.lines, testing::naive_lines(text, kLimits)) << "seed " << seed;
  }
}

TEST(RowReaderFuzz, EveryLineIsARowOrAFault) {
  const RowReader reader({.body = {}, .models = {"m"}, .any_model = true});
  const Deadline deadline(40'000);
  for (uint64_t seed = 0; deadline.another(seed); ++seed) {
    Random random(seed);
    const std::string text = some_text(random);
    for (const testing::FoundLine& found : testing::naive_lines(text, kLimits)) {
      const Line line{.number = found.number,
                      .bytes = found.bytes,
                      .length = found.length,
                      .too_long = found.too_long};
      const RowOrFault once = reader.read(line);
      const RowOrFault twice = reader.read(line);
      ASSERT_EQ(once.index(), twice.index()) << "seed " << seed;
      if (const auto* fault = std::get_if<RowFault>(&once)) {
        ASSERT_EQ(fault->key, std::get<RowFault>(twice).key) << "seed " << seed;
        ASSERT_FALSE(fault->failure.message.empty()) << "seed " << seed;
        ASSERT_EQ(fault->of_line, fault->key.custom_id.empty()) << "seed " << seed;
      } else {
        ASSERT_EQ(std::get<Row>(once).key, std::get<Row>(twice).key) << "seed " << seed;
      }
    }
  }
}

}  // namespace
}  // namespace windrow::batch
