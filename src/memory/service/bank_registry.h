// BankRegistry: the banks of a folder, each a file, opened when they are used. The least recently
// used ones are closed when more than `open_max` are open, unless they are held.
//
//   FOLDER/team%201.bank   the bank "team 1" (-wal, -shm: SQLite's); bank_files.h has the names
//   FOLDER/team%201.bank.new   a bank that is being made
//   FOLDER/.lock           held by the process that has the folder open
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "memory/bank/bank.h"
#include "memory/bank/bank_store.h"
#include "memory/bank/sqlite_bank_store.h"
#include "store/disk.h"

namespace windrow::memory {

// Thread-safe; blocks on the disk.
class BankRegistry {
 public:
  struct Options {
    size_t open_max = 64;
    std::function<void(const std::string&)> warn;  // for the operator, any thread; may be empty
  };

  // Creates the folder if it is missing. kConflict: another process uses it. kIo, kDiskFull.
  static Result<std::unique_ptr<BankRegistry>> open(std::string folder, store::Disk& disk,
                                                    const Clock& clock, Options options);
  ~BankRegistry();

  // The bank; it stays open while the result is held. kNotFound; kInvalid: the file is damaged, or
  // is that of another bank (it is left as it is); kConflict: it is of a later version.
  Result<std::shared_ptr<BankStore>> bank(const BankId& id);

  // The same, and creates it for `owner` if there is none.
  Result<std::shared_ptr<BankStore>> bank_or_new(const BankId& id, std::string_view owner);

  // Closes it and removes its file. kNotFound. Holders get kNotFound from then on.
  Result<void> remove(const BankId& id);

  // Sorted by id.
  Result<std::vector<BankId>> list();

 private:
  // A bank that is open, or that some thread is about to open, close or remove.
  struct Entry {
    size_t users = 0;        // threads that wait for `changing` or hold it; under mutex_
    uint64_t last_used = 0;  // under mutex_
    std::mutex changing;     // is not waited for under mutex_
    std::shared_ptr<SqliteBankStore> store;  // under `changing`; empty: not open
  };
  // An entry that stays in the table while this is there.
  class Use;

  BankRegistry(std::string folder, std::unique_ptr<store::FileLock> lock, store::Disk& disk,
               const Clock& clock, Options options);

  // Opens the bank of a file; `made` is made if there is no file.
  Result<std::shared_ptr<SqliteBankStore>> opened(const std::string& name, const Bank* made);
  Result<std::vector<std::string>> file_names() const;
  void close_unused();
  std::string path_of(std::string_view name) const;

  const std::string folder_;
  const std::unique_ptr<store::FileLock> lock_;
  store::Disk& disk_;
  const Clock& clock_;
  const Options options_;
  std::mutex mutex_;
  std::map<std::string, Entry> entries_;  // by file name
  uint64_t uses_ = 0;
};

// A bank file by its path, for commands that work without a server. It holds the lock of its
// folder, as a registry does. A new bank is named after its file. kConflict: another process uses
// the folder. kNotFound unless `create`.
Result<std::shared_ptr<BankStore>> open_bank_file(const std::string& path, store::Disk& disk,
                                                  const Clock& clock, bool create);

}  // namespace windrow::memory
