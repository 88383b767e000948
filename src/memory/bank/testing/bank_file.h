// BankFile: a bank in a file of its own, for tests.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/ensure.h"
#include "memory/bank/sqlite_bank_store.h"
#include "store/testing/temporary_folder.h"

namespace windrow::memory::testing {

class BankFile {
 public:
  BankFile() {
    const Result<void> made = SqliteBankStore::create(path(), {.id = BankId{"bank"}});
    ENSURE(made, "no bank was made");
    reopen();
  }

  SqliteBankStore& store() { return *store_; }
  std::string path() const { return folder_ / "bank.bank"; }

  // Closes the file and opens it again.
  void reopen() {
    store_.reset();
    Result<std::unique_ptr<SqliteBankStore>> opened = SqliteBankStore::open(path());
    ENSURE(opened, "{}", opened.error().message);
    store_ = *std::move(opened);
  }
  void close() { store_.reset(); }

 private:
  const store::testing::TemporaryFolder folder_;
  std::unique_ptr<SqliteBankStore> store_;
};

// A fact of the world with nothing but this.
inline NewFact fact(std::string text, std::vector<std::string> tags) {
  NewFact fact;
  fact.text = std::move(text);
  fact.tags = Tags(std::move(tags));
  return fact;
}

}  // namespace windrow::memory::testing
