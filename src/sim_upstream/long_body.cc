#include "sim_upstream/long_body.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace windrow::sim_upstream {

void LongBody::add(std::string text) {
  bytes_ += text.size();
  if (!parts_.empty()) {
    if (auto* const last = std::get_if<std::string>(&parts_.back())) {
      *last += text;
      return;
    }
  }
  parts_.emplace_back(std::move(text));
}

void LongBody::add(RowsText rows) {
  bytes_ += rows.bytes();
  has_rows_ = true;
  parts_.emplace_back(std::move(rows));
}

void LongBody::add(LongBody body) {
  bytes_ += body.bytes_;
  has_rows_ = has_rows_ || body.has_rows_;
  std::ranges::move(body.parts_, std::back_inserter(parts_));
}

std::string LongBody::take(size_t bytes) {
  std::string piece;
  piece.reserve(static_cast<size_t>(std::min<uint64_t>(bytes_, bytes)));
  while (!parts_.empty() && piece.size() < std::min<uint64_t>(bytes, bytes_)) {
    if (auto* const rows = std::get_if<RowsText>(&parts_.front())) {
      if (rows->append(piece, bytes - piece.size())) continue;
    } else {
      piece += std::get<std::string>(parts_.front());
    }
    parts_.pop_front();
  }
  if (piece.size() > bytes_) piece.resize(static_cast<size_t>(bytes_));
  bytes_ -= piece.size();
  return piece;
}

std::string LongBody::take_all() {
  return take(static_cast<size_t>(bytes_));
}

}  // namespace windrow::sim_upstream
