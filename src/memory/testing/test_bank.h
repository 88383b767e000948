// TestBank: a bank in a real SQLite file of a temporary folder.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "memory/bank/new_id.h"
#include "memory/bank/sqlite_bank_store.h"

namespace windrow::memory::testing {

class TestBank {
 public:
  TestBank()
      : folder_(std::filesystem::path(::testing::TempDir()) / ("bank-" + new_uuid())),
        path_((folder_ / "test.bank").string()) {
    std::filesystem::create_directories(folder_);
    const Result<void> made = SqliteBankStore::create(path_, Bank{.id = {"test"}});
    EXPECT_TRUE(made) << made.error().message;
    open();
  }
  ~TestBank() {
    store_.reset();
    std::filesystem::remove_all(folder_);
  }
  TestBank(const TestBank&) = delete;
  TestBank& operator=(const TestBank&) = delete;

  SqliteBankStore& store() { return *store_; }
  const std::string& path() const { return path_; }

  void close() { store_.reset(); }
  void open() {
    auto opened = SqliteBankStore::open(path_);
    ASSERT_TRUE(opened) << opened.error().message;
    store_ = *std::move(opened);
  }

  MemoryId add(std::string_view text, std::vector<std::string> tags, ObservationScopes scopes = {},
               std::vector<float> embedding = {}) {
    NewFact fact;
    fact.text = text;
    fact.tags = Tags(std::move(tags));
    fact.scopes = std::move(scopes);
    fact.embedding = std::move(embedding);
    const Result<std::vector<MemoryId>> ids = store_->retain({.facts = {fact}}, 1000);
    EXPECT_TRUE(ids) << ids.error().message;
    return ids ? ids->front() : MemoryId{};
  }

  std::vector<Memory> observations(std::vector<std::string> tags) {
    Result<std::vector<Memory>> found = store_->observations_of(Tags(std::move(tags)));
    EXPECT_TRUE(found) << found.error().message;
    return found ? *std::move(found) : std::vector<Memory>();
  }

  Memory memory(const MemoryId& id) {
    Result<Memory> found = store_->memory(id);
    EXPECT_TRUE(found) << found.error().message;
    return found ? *std::move(found) : Memory();
  }

  BankStats stats() {
    Result<BankStats> stats = store_->stats();
    EXPECT_TRUE(stats) << stats.error().message;
    return stats ? *std::move(stats) : BankStats();
  }

 private:
  const std::filesystem::path folder_;
  const std::string path_;
  std::unique_ptr<SqliteBankStore> store_;
};

}  // namespace windrow::memory::testing
