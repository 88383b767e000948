#include "sim_upstream/token_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/random.h"
#include "base/text_encoding.h"

namespace windrow::sim_upstream {
namespace {

constexpr size_t kBankRowsMax = 256;
constexpr size_t kBankRowsMin = 8;
constexpr size_t kBankBytes = size_t{4} << 20;

std::string make_row(const RowShape& shape, Random& random) {
  std::string bytes;
  bytes.reserve(shape.bytes());
  for (int64_t layer = 0; layer < shape.layers; ++layer) {
    // Equal steps from a random place, around the end: topk of them are less than one round.
    const int64_t first = random.between(0, shape.below - 1);
    const int64_t step = 1 + random.between(0, std::max<int64_t>(shape.below / shape.topk, 1) - 1);
    for (int64_t i = 0; i < shape.topk; ++i) {
      const auto id = static_cast<uint64_t>((first + i * step) % shape.below);
      for (size_t byte = 0; byte < shape.value_bytes; ++byte)
        bytes += static_cast<char>(id >> (8 * byte) & 0xFFU);
    }
  }
  return bytes;
}

}  // namespace

RowBank::RowBank(const RowShape& shape, uint64_t seed) : shape_(shape) {
  const size_t rows = std::clamp(kBankBytes / shape.bytes(), kBankRowsMin, kBankRowsMax);
  Random random(seed);
  for (size_t i = 0; i < rows; ++i) {
    const std::string& row = bytes_.emplace_back(make_row(shape, random));
    for (size_t skipped = 0; skipped < 3; ++skipped) {
      std::string_view groups = std::string_view(row).substr(std::min(skipped, row.size()));
      groups.remove_suffix(groups.size() % 3);
      append_base64(groups, texts_.emplace_back());
    }
  }
}

std::vector<uint8_t> rows_of_tokens(std::span<const int32_t> prompt,
                                    std::span<const int32_t> answer, int64_t first,
                                    const RowBank& bank, uint64_t seed) {
  std::vector<uint8_t> rows;
  const size_t all = prompt.size() + answer.size();
  const auto begin = static_cast<size_t>(first);
  if (begin + 1 < all) rows.reserve(all - 1 - begin);
  uint64_t prefix = seed;
  for (size_t i = 0; i + 1 < all; ++i) {
    const int32_t id = i < prompt.size() ? prompt[i] : answer[i - prompt.size()];
    prefix = Random(prefix ^ static_cast<uint32_t>(id)).next();
    if (i >= begin) rows.push_back(static_cast<uint8_t>((prefix >> 32) % bank.rows()));
  }
  return rows;
}

RowsText::RowsText(std::shared_ptr<const RowBank> bank, std::vector<uint8_t> rows, std::string head)
    : bank_(std::move(bank)),
      rows_(std::move(rows)),
      raw_bytes_(head.size() + rows_.size() * bank_->shape().bytes()),
      carry_(std::move(head)) {}

uint64_t RowsText::bytes() const {
  return base64_length(raw_bytes_);
}

void RowsText::encode_carry(std::string& out) {
  const size_t whole = carry_.size() - carry_.size() % 3;
  append_base64(std::string_view(carry_).substr(0, whole), out);
  carry_.erase(0, whole);
}

void RowsText::append_row(size_t row, std::string& out) {
  const std::string_view bytes = bank_->bytes(row);
  const size_t skipped = (3 - carry_.size() % 3) % 3;
  carry_ += bytes.substr(0, skipped);
  encode_carry(out);
  if (bytes.size() <= skipped) return;
  out += bank_->text(row, skipped);
  carry_ += bytes.substr(bytes.size() - (bytes.size() - skipped) % 3);
}

bool RowsText::append(std::string& out, size_t bytes_min) {
  const size_t begin = out.size();
  while (next_row_ < rows_.size() && out.size() - begin < bytes_min)
    append_row(rows_[next_row_++], out);
  if (next_row_ == rows_.size()) append_base64(std::exchange(carry_, {}), out);
  if (broken_) break_text(out, begin);
  made_ += out.size() - begin;
  return made_ < bytes();
}

void RowsText::break_text(std::string& out, size_t begin) {
  const uint64_t middle = bytes() / 2;
  if (middle >= made_ && middle - made_ < out.size() - begin)
    out[begin + static_cast<size_t>(middle - made_)] = '*';
}

std::string npy_head(const RowShape& shape, size_t rows) {
  constexpr size_t kAlignment = 64;
  constexpr size_t kFixedBytes = 10;  // what stands before the description
  const std::string_view type = shape.value_bytes == 1   ? "|u1"
                                : shape.value_bytes == 2 ? "<u2"
                                                         : "<i4";
  std::string text =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}, {}, {}), }}", type, rows,
                  shape.layers, shape.topk);
  const size_t bytes = kFixedBytes + text.size() + 1;
  text.append((kAlignment - bytes % kAlignment) % kAlignment, ' ');
  text += '\n';
  std::string head("\x93NUMPY\x01\x00", 8);
  head += static_cast<char>(text.size() & 0xFFU);
  head += static_cast<char>(text.size() >> 8U);
  return head + text;
}

}  // namespace windrow::sim_upstream
