#include "memory/bank/sqlite/queries.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "json/writer.h"

namespace windrow::memory {
namespace {

// What SQLite finds invalid is a damaged file, never what a client wrote.
Error of_file(Error error) {
  if (error.kind == ErrorKind::kInvalid) error.kind = ErrorKind::kIo;
  return error;
}

}  // namespace

Result<void> Queries::ask(std::string_view sql, Values values, const Visit& visit) const {
  return ask(sql, std::span(values.begin(), values.size()), visit);
}

Result<void> Queries::ask(std::string_view sql, std::span<const store::Value> values,
                          const Visit& visit) const {
  Result<void> asked =
      writer_ != nullptr ? writer_->ask(sql, values, visit) : reader_->ask(sql, values, visit);
  if (!asked) return of_file(asked.error());
  return asked;
}

Result<std::optional<int64_t>> Queries::number(std::string_view sql, Values values) const {
  std::optional<int64_t> number;
  bool is_first = true;
  const Result<void> asked = ask(sql, values, [&](const store::DatabaseRow& row) {
    if (is_first) number = row.number_or_none(0);
    is_first = false;
  });
  if (!asked) return asked.error();
  return number;
}

Result<std::vector<int64_t>> Queries::numbers(std::string_view sql, Values values) const {
  std::vector<int64_t> numbers;
  const Result<void> asked =
      ask(sql, values, [&](const store::DatabaseRow& row) { numbers.push_back(row.number(0)); });
  if (!asked) return asked.error();
  return numbers;
}

Result<int64_t> BankChange::change(std::string_view sql, Queries::Values values) {
  return change(sql, std::span(values.begin(), values.size()));
}

Result<int64_t> BankChange::change(std::string_view sql, std::span<const store::Value> values) {
  Result<int64_t> changed = database_.change(sql, values);
  if (!changed) return of_file(changed.error());
  return changed;
}

Result<void> BankChange::run(std::string_view sql, Queries::Values values) {
  const Result<int64_t> changed = change(sql, values);
  if (!changed) return changed.error();
  return {};
}

std::string json_list(std::span<const int64_t> numbers) {
  return fmt::format("[{}]", fmt::join(numbers, ","));
}

std::string json_list(std::span<const std::string> texts) {
  std::string list;
  append_json_array(list, texts, [&](const std::string& text) { append_json(text, list); });
  return list;
}

std::string json_list(std::span<const MemoryId> ids) {
  std::string list;
  append_json_array(list, ids, [&](const MemoryId& id) { append_json(id.text, list); });
  return list;
}

}  // namespace windrow::memory
