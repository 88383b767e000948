// BankRegistry: the banks of a folder, each a file, opened when they are used. The least recently
// used ones are closed when more than `open_max` are open and nobody holds them.
//
//   FOLDER/team%201.bank   the bank "team 1" (-wal, -shm: SQLite's); other bytes than letters,
//                          digits, '-', '_' and '.' are percent-encoded; names longer than a file
//                          name may be are a hash, and the bank knows its id
//   FOLDER/.lock           held by the process that has the folder open
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "memory/bank/bank.h"
#include "memory/bank/bank_store.h"
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

  // The bank; it stays open while the result is held. kNotFound; kInvalid: the file is damaged (it
  // is left as it is), or of a later version.
  Result<std::shared_ptr<BankStore>> bank(const BankId& id);

  // The same, and creates it for `owner` if there is none.
  Result<std::shared_ptr<BankStore>> bank_or_new(const BankId& id, std::string_view owner);

  // Closes it and removes its file. kNotFound. Holders get kNotFound from then on.
  Result<void> remove(const BankId& id);

  // Sorted by id.
  Result<std::vector<BankId>> list();
};

// A bank file by its path, for commands that work without a server. kConflict: another process uses
// it. kNotFound unless `create`.
Result<std::shared_ptr<BankStore>> open_bank_file(const std::string& path, store::Disk& disk,
                                                  const Clock& clock, bool create);

}  // namespace windrow::memory
