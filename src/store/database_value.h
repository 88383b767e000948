// Value and DatabaseRow: what goes into a statement of a Database, and the rows that come out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

struct sqlite3_stmt;

namespace windrow::store {

// Any bytes.
struct Blob {
  std::string bytes;
  friend bool operator==(const Blob&, const Blob&) = default;
};

// NULL, an integer, a real number, a text (UTF-8, no zero bytes) or bytes of a row. SQLite has
// neither NaN nor -0.0: they are stored as NULL and as 0.
using Value = std::variant<std::monostate, int64_t, double, std::string, Blob>;

// NULL for an absent value.
Value value_of(const std::optional<int64_t>& number);
Value value_of(const std::optional<double>& real);
Value value_of(const std::optional<std::string>& text);

// A row of a result; valid while its visitor runs. Columns are counted from 0.
class DatabaseRow {
 public:
  explicit DatabaseRow(sqlite3_stmt* statement) : statement_(statement) {}

  bool is_null(int column) const;
  int64_t number(int column) const;    // 0 for NULL
  double real(int column) const;       // 0 for NULL
  std::string text(int column) const;  // empty for NULL
  std::optional<int64_t> number_or_none(int column) const;
  std::optional<double> real_or_none(int column) const;
  std::optional<std::string> text_or_none(int column) const;

  // The bytes of a blob or a text, not copied: valid while the visitor runs. Empty for NULL.
  std::string_view bytes(int column) const;

 private:
  sqlite3_stmt* statement_;
};

}  // namespace windrow::store
