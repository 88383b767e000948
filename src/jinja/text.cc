#include "jinja/text.h"

#include <algorithm>
#include <utility>

#include "jinja/unicode.h"

namespace windrow::jinja {

Text::Text(std::string bytes, Origin origin, bool markup)
    : bytes_(std::move(bytes)),
      length_(count_characters(bytes_)),
      origin_(origin),
      markup_(markup) {}

size_t Text::run_at(size_t byte) const {
  const auto run = std::upper_bound(runs_.begin(), runs_.end(), byte,
                                    [](size_t at, const Run& r) { return at < r.end; });
  return static_cast<size_t>(run - runs_.begin());
}

Origin Text::origin_at(size_t byte) const {
  const size_t run = run_at(byte);
  return run < runs_.size() ? runs_[run].origin : origin_;
}

size_t Text::position_of(size_t index) const {
  if (length_ == bytes_.size()) return index;
  if (index >= length_) return bytes_.size();
  size_t at = 0;
  while (index-- > 0)
    next_character(bytes_, at);
  return at;
}

size_t Text::index_of(size_t position) const {
  if (length_ == bytes_.size()) return position;
  return count_characters(std::string_view(bytes_).substr(0, position));
}

void TextBuilder::append(std::string_view bytes, Origin origin) {
  if (bytes.empty()) return;
  budget_.spend_text(bytes.size(), text_.bytes_.size() + bytes.size());
  if (text_.bytes_.empty()) {
    text_.origin_ = origin;
  } else if (text_.runs_.empty()) {
    if (text_.origin_ != origin) {
      text_.runs_.push_back({text_.bytes_.size(), text_.origin_});
      text_.runs_.push_back({text_.bytes_.size() + bytes.size(), origin});
    }
  } else if (text_.runs_.back().origin == origin) {
    text_.runs_.back().end += bytes.size();
  } else {
    text_.runs_.push_back({text_.bytes_.size() + bytes.size(), origin});
  }
  text_.bytes_ += bytes;
}

void TextBuilder::append(const Text& text, size_t begin, size_t end) {
  text.for_each_run(begin, end,
                    [&](std::string_view bytes, Origin origin) { append(bytes, origin); });
}

TextPtr TextBuilder::finish() {
  text_.length_ = count_characters(text_.bytes_);
  return std::make_shared<const Text>(std::move(text_));
}

}  // namespace windrow::jinja
