#include "store/database_value.h"

#include <sqlite3.h>

#include <cstddef>

namespace windrow::store {

Value value_of(const std::optional<int64_t>& number) {
  return number ? Value(*number) : Value();
}

Value value_of(const std::optional<double>& real) {
  return real ? Value(*real) : Value();
}

Value value_of(const std::optional<std::string>& text) {
  return text ? Value(*text) : Value();
}

bool DatabaseRow::is_null(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}

int64_t DatabaseRow::number(int column) const {
  return sqlite3_column_int64(statement_, column);
}

double DatabaseRow::real(int column) const {
  return sqlite3_column_double(statement_, column);
}

std::string DatabaseRow::text(int column) const {
  const unsigned char* const text = sqlite3_column_text(statement_, column);
  if (text == nullptr) return "";
  const auto size = static_cast<size_t>(sqlite3_column_bytes(statement_, column));
  return {reinterpret_cast<const char*>(text), size};
}

std::optional<int64_t> DatabaseRow::number_or_none(int column) const {
  return is_null(column) ? std::nullopt : std::optional(number(column));
}

std::optional<double> DatabaseRow::real_or_none(int column) const {
  return is_null(column) ? std::nullopt : std::optional(real(column));
}

std::optional<std::string> DatabaseRow::text_or_none(int column) const {
  return is_null(column) ? std::nullopt : std::optional(text(column));
}

std::string_view DatabaseRow::bytes(int column) const {
  const void* const bytes = sqlite3_column_blob(statement_, column);
  if (bytes == nullptr) return "";
  return {static_cast<const char*>(bytes),
          static_cast<size_t>(sqlite3_column_bytes(statement_, column))};
}

}  // namespace windrow::store
