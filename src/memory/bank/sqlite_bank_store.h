// SqliteBankStore: a bank in one SQLite file. bank/sqlite/ has its parts; this class decides what
// is a transaction, how durable it is, and who reads beside whom.
//
// One connection writes: transactions that wait at the same time are committed together. Up to
// kReadersMax connections read without waiting for it. Vectors are searched in memory.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "memory/bank/bank_store.h"
#include "memory/bank/sqlite/queries.h"
#include "memory/bank/sqlite/reader_pool.h"
#include "memory/bank/sqlite/tag_sets.h"
#include "memory/bank/sqlite/vector_index.h"
#include "store/database.h"
#include "store/group_commit.h"

namespace windrow::memory {

// Thread-safe; functions that are given to its methods must not call it.
class SqliteBankStore final : public BankStore {
 public:
  static constexpr size_t kReadersMax = 4;

  // Told, on any thread, why the file could not be read or written.
  using Warn = std::function<void(const std::string&)>;

  // Opens the file of a bank. kNotFound: there is no such file, or no bank in it; kInvalid: it is
  // damaged; kConflict: it is of a later version, or another process writes to it. `warn`, which
  // may be empty, is told of calls that fail later.
  static Result<std::unique_ptr<SqliteBankStore>> open(const std::string& path, Warn warn = {});

  // Makes the file of a new bank. kConflict: there is a file.
  static Result<void> create(const std::string& path, const Bank& bank);

  // Closes the file once running calls have ended. Calls fail with kNotFound from then on.
  void close();

  Result<Bank> bank() override;
  Result<Bank> edit_bank(const std::function<Result<void>(Bank&)>& edit) override;

  Result<std::vector<MemoryId>> retain(const Retained& retained, UnixMs now) override;
  Result<Memory> memory(const MemoryId& id) override;
  Result<std::vector<Memory>> memories(std::span<const MemoryId> ids) override;
  Result<MemoryPage> list(const MemoryQuery& query) override;
  Result<std::vector<ObservationChange>> history(const MemoryId& id) override;
  Result<Memory> edit_memory(const MemoryId& id, const std::function<Result<void>(Memory&)>& edit,
                             UnixMs now) override;
  Result<int64_t> clear(std::optional<MemoryType> type, UnixMs now) override;
  Result<int64_t> clear_observations_of(const MemoryId& fact, UnixMs now) override;

  Result<std::vector<Document>> documents(std::string_view text, int64_t limit, int64_t offset,
                                          int64_t* total) override;
  Result<Document> document(std::string_view id) override;
  Result<std::vector<Chunk>> chunks(std::string_view document_id) override;
  Result<Chunk> chunk(std::string_view id) override;
  Result<int64_t> delete_document(std::string_view id, UnixMs now) override;

  Result<BankStats> stats() override;
  Result<std::vector<EntityCount>> entities() override;
  Result<std::vector<TagCount>> tags() override;
  Result<std::vector<ScopeCount>> scopes() override;

  Result<std::vector<Hit>> nearest(std::span<const float> vector, const SearchFilter& filter,
                                   int32_t hits_max) override;
  Result<std::vector<Hit>> matching(std::string_view text, const SearchFilter& filter,
                                    int32_t hits_max) override;

  Result<std::vector<PendingFact>> pending_facts() override;
  Result<std::vector<Memory>> observations_of(const Scope& scope) override;
  Result<std::vector<Repeated>> repeated(const Scope& scope,
                                         std::span<const std::string> texts) override;
  Result<void> apply(const BatchEffects& effects, UnixMs now) override;
  Result<void> mark_failed(std::span<const Witness> facts, std::string_view reason,
                           UnixMs now) override;
  Result<int64_t> recover_failed(UnixMs now) override;
  Result<std::vector<Memory>> without_embedding(int64_t limit) override;
  Result<void> set_embeddings(std::span<const Embedding> embeddings) override;

  Result<void> add_operation(const Operation& operation) override;
  Result<Submitted> submit_consolidation(const OperationId& id, UnixMs now) override;
  Result<Operation> operation(const OperationId& id) override;
  Result<std::vector<Operation>> operations(std::optional<OperationStatus> status,
                                            std::optional<OperationType> type, int64_t limit,
                                            int64_t offset, int64_t* total) override;
  Result<void> end_leases(std::string_view but_of, UnixMs now) override;
  Result<std::optional<Operation>> claim(OperationType type, std::string_view worker, UnixMs now,
                                         int64_t lease_ms) override;
  Result<std::optional<UnixMs>> next_due(OperationType type) override;
  Result<void> renew(const OperationId& id, std::string_view worker,
                     const boost::json::object& progress, UnixMs now, int64_t lease_ms) override;
  Result<void> finish(const Operation& operation, std::string_view worker, UnixMs now) override;
  Result<void> cancel_operation(const OperationId& id, UnixMs now) override;
  Result<void> retry_operation(const OperationId& id, UnixMs now) override;
  Result<void> delete_operation(const OperationId& id) override;

 private:
  SqliteBankStore(const std::string& path, std::unique_ptr<store::Database> database, Warn warn);

  // One transaction. Its value is that of `body`, a Result<T>.
  template <class T, class Body>
  Result<T> write(store::Durability durability, UnixMs now, const Body& body);

  // What `body` reads is one state of the bank.
  template <class T, class Body>
  Result<T> read(const Body& body);

  Result<void> check_open() const;
  Error reported(Error error) const;

  const std::string file_name_;
  const Warn warn_;

  // Held by each call; close() takes it alone. What follows is there until then.
  std::shared_mutex open_;
  std::atomic<bool> closed_ = false;
  std::unique_ptr<store::Database> database_;
  std::optional<store::GroupCommit> commits_;
  std::optional<ReaderPool> readers_;
  TagSets tag_sets_;
  VectorIndex vectors_;
};

}  // namespace windrow::memory
