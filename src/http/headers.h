// Headers: the header fields of a request or a reply, in their order. Names compare without regard
// to case; one name may stand several times.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace windrow::http {

// Whether two header names, or two tokens of a header value, are the same.
bool same_ignoring_case(std::string_view a, std::string_view b);

// Whether a text is allowed in a message (RFC 9110, 5.1 and 5.5). Line ends are not, so that no
// value can begin a header of its own.
bool is_header_name(std::string_view name);
bool is_header_value(std::string_view value);

// Whether a list such as "keep-alive, Upgrade" has `token` in it.
bool list_has(std::string_view list, std::string_view token);

// Not thread-safe. All text is in one buffer, so a reply's headers cost two allocations.
class Headers {
 public:
  // Valid until the headers change.
  struct Field {
    std::string_view name;
    std::string_view value;

    friend bool operator==(const Field&, const Field&) = default;
  };

  Headers() = default;
  Headers(std::initializer_list<Field> fields);

  // Accepts any text; the code that writes a message checks it with the functions above.
  void add(std::string_view name, std::string_view value);

  // Replaces all fields of this name by one.
  void set(std::string_view name, std::string_view value);

  // The value of the first field of this name.
  std::optional<std::string_view> get(std::string_view name) const;

  bool has(std::string_view name) const { return get(name).has_value(); }

  size_t size() const { return fields_.size(); }
  bool empty() const { return fields_.empty(); }
  Field operator[](size_t i) const;

  void clear();

  class Iterator {
   public:
    Iterator(const Headers& headers, size_t i) : headers_(&headers), i_(i) {}
    Field operator*() const { return (*headers_)[i_]; }
    Iterator& operator++() {
      ++i_;
      return *this;
    }
    friend bool operator==(const Iterator&, const Iterator&) = default;

   private:
    const Headers* headers_;
    size_t i_;
  };
  Iterator begin() const { return {*this, 0}; }
  Iterator end() const { return {*this, fields_.size()}; }

 private:
  // Of a field in text_: the name, then the value.
  struct Position {
    uint32_t begin;
    uint32_t name_bytes;
    uint32_t value_bytes;
  };

  std::string text_;
  std::vector<Position> fields_;
};

}  // namespace windrow::http
