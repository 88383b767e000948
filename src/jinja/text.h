// Text: an immutable string in which every character knows its origin: the template or its input.
// Positions are in bytes; Python's indices are in characters, so it also maps between the two.
// Immutable, any thread. TextBuilder: the only way to make a text from others; used by one thread.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "jinja/budget.h"

namespace windrow::jinja {

enum class Origin : bool { kTemplate, kInput };

class Text {
 public:
  // A stretch of one origin, from the end of the previous one.
  struct Run {
    size_t end;
    Origin origin;
  };

  Text() = default;
  Text(std::string bytes, Origin origin, bool markup = false);

  const std::string& bytes() const { return bytes_; }
  size_t length() const { return length_; }  // in characters
  bool empty() const { return bytes_.empty(); }

  // Made by `safe` or `escape`: text that is added to it is escaped, as markupsafe does.
  bool markup() const { return markup_; }

  Origin origin_at(size_t byte) const;

  // The position of the character with this index; for length(), the end of the text.
  size_t position_of(size_t index) const;
  size_t index_of(size_t position) const;

  // Calls piece(bytes, origin) for each stretch of [begin, end).
  template <class Function>
  void for_each_run(size_t begin, size_t end, Function&& piece) const {
    const std::string_view all(bytes_);
    if (runs_.empty()) {
      if (begin < end) piece(all.substr(begin, end - begin), origin_);
      return;
    }
    for (size_t run = run_at(begin); begin < end; ++run) {
      const size_t to = runs_[run].end < end ? runs_[run].end : end;
      piece(all.substr(begin, to - begin), runs_[run].origin);
      begin = to;
    }
  }

 private:
  friend class TextBuilder;

  size_t run_at(size_t byte) const;  // its index in runs_

  std::string bytes_;
  std::vector<Run> runs_;  // empty: all of it has origin_
  size_t length_ = 0;
  Origin origin_ = Origin::kTemplate;
  bool markup_ = false;
};

using TextPtr = std::shared_ptr<const Text>;

class TextBuilder {
 public:
  explicit TextBuilder(Budget& budget) : budget_(budget) {}

  void append(std::string_view bytes, Origin origin);
  void append(const Text& text) { append(text, 0, text.bytes().size()); }
  void append(const Text& text, size_t begin, size_t end);

  size_t size() const { return text_.bytes_.size(); }
  void set_markup(bool markup) { text_.markup_ = markup; }

  TextPtr finish();  // only once

 private:
  Budget& budget_;
  Text text_;
};

}  // namespace windrow::jinja
