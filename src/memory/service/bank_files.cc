#include "memory/service/bank_files.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/crypto.h"
#include "base/text_encoding.h"
#include "memory/bank/sqlite_bank_store.h"

namespace windrow::memory {
namespace {

// File systems take 255 bytes, and SQLite adds "-wal" to the name of a file.
constexpr size_t kEncodedIdBytesMax = 240;
constexpr char kHashMark = '+';  // is escaped in encoded ids
constexpr size_t kHashDigits = 64;

// SQLite would take the log of an earlier file of this name for one of this file.
Result<void> remove_logs(store::Disk& disk, const std::string& path) {
  for (const std::string_view ending : {"-wal", "-shm"}) {
    const std::string log = fmt::format("{}{}", path, ending);
    if (!disk.exists(log)) continue;
    if (Result<void> removed = disk.remove(log); !removed) return removed;
  }
  return {};
}

}  // namespace

std::string bank_file_name(const BankId& id) {
  std::string name = percent_encoded(id.text);
  if (name.size() > kEncodedIdBytesMax) {
    Sha256 hash;
    hash.add(id.text);
    name = kHashMark + hash.finish();
  }
  return name.append(kBankEnding);
}

bool is_hashed_bank_name(std::string_view name) {
  return name.size() == 1 + kHashDigits + kBankEnding.size() && name.front() == kHashMark &&
         name.ends_with(kBankEnding) &&
         name.substr(1, kHashDigits).find_first_not_of("0123456789abcdef") ==
             std::string_view::npos;
}

std::optional<BankId> bank_of_file_name(std::string_view name) {
  if (!name.ends_with(kBankEnding)) return std::nullopt;
  const Result<BankId> id =
      bank_id_from(percent_decoded(name.substr(0, name.size() - kBankEnding.size())));
  if (!id || bank_file_name(*id) != name) return std::nullopt;
  return *id;
}

Result<void> make_bank_file(store::Disk& disk, const std::string& path, const Bank& bank) {
  if (disk.exists(path))
    return Error{ErrorKind::kConflict, fmt::format("there is a file {} already", path)};
  const std::string begun = path + ".new";
  Result<void> done = remove_logs(disk, begun);
  if (done && disk.exists(begun)) done = disk.remove(begun);
  if (done) done = SqliteBankStore::create(begun, bank);
  if (done) done = remove_logs(disk, path);
  if (done) done = disk.rename(begun, path);
  if (done) done = disk.sync_folder_of(path);
  return done;
}

Result<void> remove_bank_file(store::Disk& disk, const std::string& path) {
  if (!disk.exists(path))
    return Error{ErrorKind::kNotFound, fmt::format("there is no bank file {}", path)};
  Result<void> done = remove_logs(disk, path);
  if (done) done = disk.remove(path);
  if (done) done = disk.sync_folder_of(path);
  return done;
}

}  // namespace windrow::memory
