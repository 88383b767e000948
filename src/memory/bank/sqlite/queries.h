// How the parts of SqliteBankStore read and change a bank file: Queries reads, beside the writer or
// within its transaction; BankChange is one transaction.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "memory/bank/memory.h"
#include "store/database.h"

namespace windrow::memory {

// One connection to read from. Used by one thread; the connection outlives it.
class Queries {
 public:
  using Values = store::Database::Values;
  using Visit = store::Database::Visit;

  explicit Queries(store::Database& writer) : writer_(&writer) {}
  explicit Queries(store::DatabaseReader& reader) : reader_(&reader) {}

  // As store::Database::ask; kIo also for a damaged file.
  Result<void> ask(std::string_view sql, Values values, const Visit& visit) const;
  Result<void> ask(std::string_view sql, std::span<const store::Value> values,
                   const Visit& visit) const;

  // The first column of the first row; nothing for NULL or no row.
  Result<std::optional<int64_t>> number(std::string_view sql, Values values) const;

  // The first column of all rows.
  Result<std::vector<int64_t>> numbers(std::string_view sql, Values values) const;

 private:
  store::Database* writer_ = nullptr;
  store::DatabaseReader* reader_ = nullptr;
};

// A transaction that changes a bank. Used by one thread at a time.
class BankChange {
 public:
  BankChange(store::Database& database, UnixMs now) : database_(database), now_(now) {}

  Queries queries() { return Queries(database_); }
  UnixMs now() const { return now_; }

  // Runs a statement; how many rows it changed, triggers and cascades apart. kIo also for a damaged
  // file.
  Result<int64_t> change(std::string_view sql, Queries::Values values = {});
  Result<int64_t> change(std::string_view sql, std::span<const store::Value> values);
  Result<void> run(std::string_view sql, Queries::Values values = {});

  // Notes memories whose vectors are to be read again after the commit: they are new or removed, or
  // their vector, type, tags or validity has changed.
  void note(int64_t row) { rows_.push_back(row); }
  void note(std::span<const int64_t> rows) { rows_.insert(rows_.end(), rows.begin(), rows.end()); }
  const std::vector<int64_t>& noted() const { return rows_; }

 private:
  store::Database& database_;
  const UnixMs now_;
  std::vector<int64_t> rows_;
};

// Lists as one value of a statement: "... IN (SELECT value FROM json_each(?))".
std::string json_list(std::span<const int64_t> numbers);
std::string json_list(std::span<const std::string> texts);
std::string json_list(std::span<const MemoryId> ids);

}  // namespace windrow::memory
