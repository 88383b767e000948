// LongBody: the body of a reply as texts and rows (token_rows.h), made piece by piece while it is
// sent. Pure; one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <variant>

#include "sim_upstream/token_rows.h"

namespace windrow::sim_upstream {

class LongBody {
 public:
  LongBody() = default;
  explicit LongBody(std::string text) { add(std::move(text)); }

  void add(std::string text);
  void add(RowsText rows);
  void add(LongBody body);

  // It has rows, which is worth sending piece by piece.
  bool has_rows() const { return has_rows_; }

  // What is left of it.
  uint64_t bytes() const { return bytes_; }

  // It ends after the next `bytes` bytes, where it has more.
  void cut(uint64_t bytes) { bytes_ = bytes < bytes_ ? bytes : bytes_; }

  // The next bytes: so many, and up to a text or a few rows more. Empty: the end.
  std::string take(size_t bytes);

  std::string take_all();

 private:
  std::deque<std::variant<std::string, RowsText>> parts_;
  uint64_t bytes_ = 0;
  bool has_rows_ = false;
};

}  // namespace windrow::sim_upstream
