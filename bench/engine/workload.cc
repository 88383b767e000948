#include "engine/workload.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/random.h"

namespace windrow::bench {

namespace {

using engine::Token;

enum class Stream : uint8_t { kPrefix, kOwn, kOrder };

Random random_of(const Shape& shape, Stream stream, int index) {
  Random seeds(shape.seed);
  return Random(seeds.next() + (static_cast<uint64_t>(stream) << 32) +
                static_cast<uint64_t>(index));
}

void append_tokens(Random random, int count, int vocabulary_size, std::vector<Token>& tokens) {
  const auto choices = static_cast<uint64_t>(std::min(vocabulary_size - 300, 2000));
  for (int i = 0; i < count; ++i)
    tokens.push_back(static_cast<Token>(200 + random.below(choices)));
}

}  // namespace

std::vector<Row> make_rows(const Shape& shape, int vocabulary_size) {
  std::vector<Row> rows;
  for (int i = 0; i < shape.rows; ++i) {
    Row row{.group = static_cast<int>(int64_t{i} * shape.groups / shape.rows)};
    append_tokens(random_of(shape, Stream::kPrefix, row.group), shape.shared_tokens,
                  vocabulary_size, row.prompt);
    append_tokens(random_of(shape, Stream::kOwn, i), shape.own_tokens, vocabulary_size, row.prompt);
    rows.push_back(std::move(row));
  }
  if (shape.shuffle) {
    Random random = random_of(shape, Stream::kOrder, 0);
    for (size_t i = rows.size(); i > 1; --i)
      std::swap(rows[i - 1], rows[random.below(i)]);
  }
  return rows;
}

std::string to_json(const Row& row) {
  return fmt::format(R"({{"group": {}, "prompt": [{}]}})", row.group, fmt::join(row.prompt, ", "));
}

}  // namespace windrow::bench
