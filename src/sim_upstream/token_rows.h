// Rows of ids, one for each token of a conversation, as servers send them in base64: the experts
// that each layer chose (routed_experts), or the positions that its indexer chose (indexer_topk).
// A row is determined by the tokens up to its own. Pure.
//
// A reply may have 100 MB of them, so their text is put together from rows that were encoded once,
// while it is sent: that costs what copying costs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace windrow::sim_upstream {

// What one row has.
struct RowShape {
  int64_t layers = 0;
  int64_t topk = 0;
  int64_t below = 0;       // ids are from 0 to below - 1; of one layer all are different
  size_t value_bytes = 4;  // of an id, little-endian: 1, 2 or 4

  int64_t values() const { return layers * topk; }
  size_t bytes() const { return static_cast<size_t>(values()) * value_bytes; }
};

// The different rows that there are, as bytes and as base64. Immutable; any thread.
class RowBank {
 public:
  // At most 256, and fewer where a row is long. `shape` has at least one value.
  RowBank(const RowShape& shape, uint64_t seed);

  const RowShape& shape() const { return shape_; }
  size_t rows() const { return bytes_.size(); }
  std::string_view bytes(size_t row) const { return bytes_[row]; }

  // The base64 of the row without its first `skipped` (0 to 2) bytes and without the last ones that
  // are no whole group of three.
  std::string_view text(size_t row, size_t skipped) const { return texts_[row * 3 + skipped]; }

 private:
  RowShape shape_;
  std::vector<std::string> bytes_;
  std::vector<std::string> texts_;
};

// Which rows of a bank belong to tokens [first, all - 1), in order: the last token has none yet.
std::vector<uint8_t> rows_of_tokens(std::span<const int32_t> prompt,
                                    std::span<const int32_t> answer, int64_t first,
                                    const RowBank& bank, uint64_t seed);

// The base64 of rows, made from its beginning to its end.
class RowsText {
 public:
  // `head` stands before the rows and is encoded with them.
  RowsText(std::shared_ptr<const RowBank> bank, std::vector<uint8_t> rows, std::string head = {});

  // In the middle stands a character that base64 has not.
  void break_in_the_middle() { broken_ = true; }

  uint64_t bytes() const;  // of the whole text

  // Appends the next part of the text: at least `bytes_min` bytes, and some more than that, or all
  // that is left. False: nothing is left.
  bool append(std::string& out, size_t bytes_min);

 private:
  void encode_carry(std::string& out);
  void append_row(size_t row, std::string& out);
  void break_text(std::string& out, size_t begin);

  std::shared_ptr<const RowBank> bank_;
  std::vector<uint8_t> rows_;
  uint64_t raw_bytes_;
  std::string carry_;  // bytes that are not encoded yet; between two rows fewer than three
  size_t next_row_ = 0;
  uint64_t made_ = 0;
  bool broken_ = false;
};

// The head of an array file of NumPy (format version 1.0), which stands before its values.
std::string npy_head(const RowShape& shape, size_t rows);

}  // namespace windrow::sim_upstream
