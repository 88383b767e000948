#include "memory/bank/sqlite_bank_store.h"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <system_error>
#include <utility>

#include "memory/bank/new_id.h"
#include "memory/bank/sqlite/bank_row.h"
#include "memory/bank/sqlite/batch_effects.h"
#include "memory/bank/sqlite/consolidation_changes.h"
#include "memory/bank/sqlite/fact_changes.h"
#include "memory/bank/sqlite/listings.h"
#include "memory/bank/sqlite/memory_rows.h"
#include "memory/bank/sqlite/operation_rows.h"
#include "memory/bank/sqlite/schema.h"
#include "memory/bank/sqlite/word_search.h"

namespace windrow::memory {
namespace {

constexpr store::Durability kSynced = store::Durability::kPowerLoss;
constexpr store::Durability kUnsynced = store::Durability::kProcessCrash;

// Damage is looked for where a process was killed, not each time a bank is opened.
constexpr store::DatabaseOptions kBankFileOptions = {
    .durability = kSynced, .check = store::OpenCheck::kEveryPageIfUnclean};

// What keeps a file from being taken for a bank, as opening it would add tables to it. A bank file
// has its mark from the beginning (see create), also where changes are in its log alone.
Result<void> check_mark(const std::string& path) {
  constexpr std::string_view kSqliteMark = "SQLite format 3";
  constexpr size_t kApplicationIdPlace = 68;
  std::array<char, 100> header = {};
  std::ifstream file(path, std::ios::binary);
  if (!file.is_open()) return {};
  if (!file.read(header.data(), header.size()) ||
      std::string_view(header.data(), kSqliteMark.size()) != kSqliteMark) {
    return Error{ErrorKind::kInvalid,
                 fmt::format("{} is no memory bank{}; it was left as it is: restore it from a "
                             "backup, or move it away",
                             path, file.gcount() == 0 ? ": it is empty" : "")};
  }
  uint32_t application_id = 0;
  for (size_t i = 0; i < sizeof(application_id); ++i)
    application_id =
        application_id << 8U | static_cast<uint8_t>(header.at(kApplicationIdPlace + i));
  if (application_id == kBankApplicationId) return {};
  return Error{ErrorKind::kInvalid,
               fmt::format("{} is a database of another program, not a memory bank; it was left "
                           "as it is: give the file of a bank",
                           path)};
}

}  // namespace

SqliteBankStore::SqliteBankStore(const std::string& path, std::unique_ptr<store::Database> database,
                                 Warn warn)
    : file_name_(std::filesystem::path(path).filename().string()),
      warn_(std::move(warn)),
      database_(std::move(database)) {
  commits_.emplace(*database_);
  readers_.emplace(*database_, kReadersMax);
}

Result<std::unique_ptr<SqliteBankStore>> SqliteBankStore::open(const std::string& path, Warn warn) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored))
    return Error{ErrorKind::kNotFound, fmt::format("there is no bank file {}", path)};
  if (Result<void> marked = check_mark(path); !marked) return marked.error();
  Result<std::unique_ptr<store::Database>> database =
      store::Database::open(path, bank_versions(), kBankFileOptions);
  if (!database) {
    Error error = database.error();
    if (error.kind == ErrorKind::kInvalid)
      error.message += "; it was left as it is: restore it from a backup, or move it away";
    return error;
  }
  const Result<Bank> bank = read_bank(Queries(**database));
  if (!bank) return bank.error().in(path);
  return std::unique_ptr<SqliteBankStore>(
      new SqliteBankStore(path, *std::move(database), std::move(warn)));
}

Result<void> SqliteBankStore::create(const std::string& path, const Bank& bank) {
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored))
    return Error{ErrorKind::kConflict, fmt::format("there is a file {} already", path)};
  Result<std::unique_ptr<store::Database>> database =
      store::Database::open(path, bank_versions(), kBankFileOptions);
  if (!database) return database.error();
  return (*database)->transaction([&] {
    BankChange change(**database, bank.created);
    return add_bank(change, bank);
  });
}

void SqliteBankStore::close() {
  closed_ = true;
  const std::unique_lock lock(open_);
  readers_.reset();
  commits_.reset();
  database_.reset();
}

Result<void> SqliteBankStore::check_open() const {
  if (!closed_) return {};
  return Error{ErrorKind::kNotFound, fmt::format("the bank of the file {} is gone", file_name_)};
}

Error SqliteBankStore::reported(Error error) const {
  if (error.kind == ErrorKind::kDiskFull)
    error.message += "; nothing of this change was stored: free space there, and try again";
  const bool is_of_disk = error.kind == ErrorKind::kDiskFull || error.kind == ErrorKind::kIo;
  if (is_of_disk && warn_) warn_(error.message);
  return error;
}

// The vectors of a transaction are read again after its commit, by a reader, so they can be those
// of a later commit but never of one that failed.
template <class T, class Body>
Result<T> SqliteBankStore::write(store::Durability durability, UnixMs now, const Body& body) {
  const std::shared_lock lock(open_);
  if (Result<void> open = check_open(); !open) return open.error();
  BankChange change(*database_, now);
  std::optional<Result<T>> value;
  const Result<void> committed = commits_->transaction(
      [&]() -> Result<void> {
        value.emplace(body(change));
        if (!*value) return value->error();
        return {};
      },
      durability);
  if (!committed) return reported(committed.error());
  if (!change.noted().empty()) {
    const Result<ReaderPool::Held> reader = readers_->take();
    if (reader)
      vectors_.refresh(**reader, change.noted());
    else
      vectors_.forget();
  }
  return *std::move(value);
}

template <class T, class Body>
Result<T> SqliteBankStore::read(const Body& body) {
  const std::shared_lock lock(open_);
  if (Result<void> open = check_open(); !open) return open.error();
  const Result<ReaderPool::Held> reader = readers_->take();
  if (!reader) return reported(reader.error());
  std::optional<Result<T>> value;
  const Result<void> done = (**reader).snapshot([&]() -> Result<void> {
    value.emplace(body(Queries(**reader)));
    return {};
  });
  if (!done) return reported(done.error());
  if (!*value) return reported(value->error());
  return *std::move(value);
}

// --- the bank, facts --------------------------------------------------------------------------

Result<Bank> SqliteBankStore::bank() {
  return read<Bank>([](const Queries& queries) { return read_bank(queries); });
}

Result<Bank> SqliteBankStore::edit_bank(const std::function<Result<void>(Bank&)>& edit) {
  return write<Bank>(kSynced, 0, [&](BankChange& change) { return edit_bank_row(change, edit); });
}

Result<std::vector<MemoryId>> SqliteBankStore::retain(const Retained& retained, UnixMs now) {
  return write<std::vector<MemoryId>>(
      kSynced, now, [&](BankChange& change) { return retain_facts(change, retained, new_uuid); });
}

Result<Memory> SqliteBankStore::memory(const MemoryId& id) {
  return read<Memory>([&](const Queries& queries) -> Result<Memory> {
    Result<StoredMemory> stored = read_memory(queries, id, WithEmbedding::kYes);
    if (!stored) return stored.error();
    return std::move(stored->memory);
  });
}

Result<std::vector<Memory>> SqliteBankStore::memories(std::span<const MemoryId> ids) {
  using Memories = std::vector<Memory>;
  return read<Memories>([&](const Queries& queries) -> Result<Memories> {
    Result<std::vector<StoredMemory>> stored = read_memories_of(queries, ids, WithEmbedding::kYes);
    if (!stored) return stored.error();
    Memories found;
    found.reserve(stored->size());
    for (StoredMemory& one : *stored)
      found.push_back(std::move(one.memory));
    return found;
  });
}

Result<MemoryPage> SqliteBankStore::list(const MemoryQuery& query) {
  return read<MemoryPage>([&](const Queries& queries) -> Result<MemoryPage> {
    const Result<std::optional<std::vector<int64_t>>> passing =
        tag_sets_.passing(queries, query.tags);
    if (!passing) return passing.error();
    return read_page(queries, query, *passing);
  });
}

Result<std::vector<ObservationChange>> SqliteBankStore::history(const MemoryId& id) {
  return read<std::vector<ObservationChange>>(
      [&](const Queries& queries) { return read_history(queries, id); });
}

Result<Memory> SqliteBankStore::edit_memory(const MemoryId& id,
                                            const std::function<Result<void>(Memory&)>& edit,
                                            UnixMs now) {
  return write<Memory>(kSynced, now,
                       [&](BankChange& change) { return edit_fact(change, id, edit); });
}

Result<int64_t> SqliteBankStore::clear(std::optional<MemoryType> type, UnixMs now) {
  return write<int64_t>(kSynced, now,
                        [&](BankChange& change) { return clear_memories(change, type); });
}

Result<int64_t> SqliteBankStore::clear_observations_of(const MemoryId& fact, UnixMs now) {
  return write<int64_t>(
      kSynced, now, [&](BankChange& change) { return clear_observations_of_fact(change, fact); });
}

// --- documents, lists -------------------------------------------------------------------------

Result<std::vector<Document>> SqliteBankStore::documents(std::string_view text, int64_t limit,
                                                         int64_t offset, int64_t* total) {
  return read<std::vector<Document>>(
      [&](const Queries& queries) { return read_documents(queries, text, limit, offset, total); });
}

Result<Document> SqliteBankStore::document(std::string_view id) {
  return read<Document>([&](const Queries& queries) { return read_document(queries, id); });
}

Result<std::vector<Chunk>> SqliteBankStore::chunks(std::string_view document_id) {
  return read<std::vector<Chunk>>(
      [&](const Queries& queries) { return read_chunks(queries, document_id); });
}

Result<Chunk> SqliteBankStore::chunk(std::string_view id) {
  return read<Chunk>([&](const Queries& queries) { return read_chunk(queries, id); });
}

Result<int64_t> SqliteBankStore::delete_document(std::string_view id, UnixMs now) {
  return write<int64_t>(kSynced, now,
                        [&](BankChange& change) { return remove_document(change, id); });
}

Result<BankStats> SqliteBankStore::stats() {
  return read<BankStats>([](const Queries& queries) { return read_stats(queries); });
}

Result<std::vector<EntityCount>> SqliteBankStore::entities() {
  return read<std::vector<EntityCount>>(
      [](const Queries& queries) { return read_entities(queries); });
}

Result<std::vector<TagCount>> SqliteBankStore::tags() {
  return read<std::vector<TagCount>>([](const Queries& queries) { return read_tags(queries); });
}

Result<std::vector<ScopeCount>> SqliteBankStore::scopes() {
  return read<std::vector<ScopeCount>>([](const Queries& queries) { return read_scopes(queries); });
}

// --- search -----------------------------------------------------------------------------------

Result<std::vector<Hit>> SqliteBankStore::nearest(std::span<const float> vector,
                                                  const SearchFilter& filter, int32_t hits_max) {
  const std::shared_lock lock(open_);
  if (Result<void> open = check_open(); !open) return open.error();
  const Result<ReaderPool::Held> reader = readers_->take();
  if (!reader) return reported(reader.error());
  const Result<std::optional<std::vector<int64_t>>> passing =
      tag_sets_.passing(Queries(**reader), filter.tags);
  if (!passing) return reported(passing.error());
  Result<std::vector<Hit>> hits =
      vectors_.nearest(**reader, vector, filter.types, *passing, hits_max);
  if (!hits) return reported(hits.error());
  return hits;
}

Result<std::vector<Hit>> SqliteBankStore::matching(std::string_view text,
                                                   const SearchFilter& filter, int32_t hits_max) {
  using Hits = std::vector<Hit>;
  return read<Hits>([&](const Queries& queries) -> Result<Hits> {
    const Result<std::optional<std::vector<int64_t>>> passing =
        tag_sets_.passing(queries, filter.tags);
    if (!passing) return passing.error();
    return search_words(queries, text, filter.types, *passing, hits_max);
  });
}

// --- consolidation ----------------------------------------------------------------------------

Result<std::vector<PendingFact>> SqliteBankStore::pending_facts() {
  return read<std::vector<PendingFact>>(
      [](const Queries& queries) { return read_pending_facts(queries); });
}

Result<std::vector<Memory>> SqliteBankStore::observations_of(const Scope& scope) {
  return read<std::vector<Memory>>(
      [&](const Queries& queries) { return read_observations_of(queries, scope); });
}

Result<std::vector<BankStore::Repeated>> SqliteBankStore::repeated(
    const Scope& scope, std::span<const std::string> texts) {
  return read<std::vector<Repeated>>(
      [&](const Queries& queries) { return read_repeated(queries, scope, texts); });
}

Result<void> SqliteBankStore::apply(const BatchEffects& effects, UnixMs now) {
  return write<void>(kUnsynced, now,
                     [&](BankChange& change) { return apply_effects(change, effects); });
}

Result<void> SqliteBankStore::mark_failed(std::span<const Witness> facts, std::string_view reason,
                                          UnixMs now) {
  return write<void>(kUnsynced, now,
                     [&](BankChange& change) { return mark_facts_failed(change, facts, reason); });
}

Result<int64_t> SqliteBankStore::recover_failed(UnixMs now) {
  return write<int64_t>(kSynced, now,
                        [](BankChange& change) { return recover_failed_facts(change); });
}

Result<std::vector<Memory>> SqliteBankStore::without_embedding(int64_t limit) {
  return read<std::vector<Memory>>(
      [&](const Queries& queries) { return read_without_embedding(queries, limit); });
}

Result<void> SqliteBankStore::set_embeddings(std::span<const Embedding> embeddings) {
  return write<void>(kUnsynced, 0, [&](BankChange& change) -> Result<void> {
    for (const Embedding& embedding : embeddings) {
      Result<void> done = embed_memory(change, embedding.memory, embedding.vector);
      if (!done) return done;
    }
    return {};
  });
}

// --- operations: leases and progress mean nothing once their process is gone --------------------

Result<void> SqliteBankStore::add_operation(const Operation& operation) {
  return write<void>(kSynced, operation.created,
                     [&](BankChange& change) { return insert_operation(change, operation); });
}

Result<BankStore::Submitted> SqliteBankStore::submit_consolidation(const OperationId& id,
                                                                   UnixMs now) {
  return write<Submitted>(kSynced, now,
                          [&](BankChange& change) { return add_consolidation(change, id); });
}

Result<Operation> SqliteBankStore::operation(const OperationId& id) {
  return read<Operation>([&](const Queries& queries) { return read_operation(queries, id); });
}

Result<std::vector<Operation>> SqliteBankStore::operations(std::optional<OperationStatus> status,
                                                           std::optional<OperationType> type,
                                                           int64_t limit, int64_t offset,
                                                           int64_t* total) {
  return read<std::vector<Operation>>([&](const Queries& queries) {
    return read_operations(queries, status, type, limit, offset, total);
  });
}

Result<void> SqliteBankStore::end_leases(std::string_view but_of, UnixMs now) {
  return write<void>(kUnsynced, now,
                     [&](BankChange& change) { return end_leases_of_others(change, but_of); });
}

Result<std::optional<Operation>> SqliteBankStore::claim(OperationType type, std::string_view worker,
                                                        UnixMs now, int64_t lease_ms) {
  return write<std::optional<Operation>>(kUnsynced, now, [&](BankChange& change) {
    return claim_operation(change, type, worker, lease_ms);
  });
}

Result<std::optional<UnixMs>> SqliteBankStore::next_due(OperationType type) {
  return read<std::optional<UnixMs>>(
      [&](const Queries& queries) { return next_operation_due(queries, type); });
}

Result<void> SqliteBankStore::renew(const OperationId& id, std::string_view worker,
                                    const boost::json::object& progress, UnixMs now,
                                    int64_t lease_ms) {
  return write<void>(kUnsynced, now, [&](BankChange& change) {
    return renew_operation(change, id, worker, progress, lease_ms);
  });
}

Result<void> SqliteBankStore::finish(const Operation& operation, std::string_view worker,
                                     UnixMs now) {
  return write<void>(kSynced, now, [&](BankChange& change) {
    return finish_operation(change, operation, worker);
  });
}

Result<void> SqliteBankStore::cancel_operation(const OperationId& id, UnixMs now) {
  return write<void>(kSynced, now,
                     [&](BankChange& change) { return cancel_operation_row(change, id); });
}

Result<void> SqliteBankStore::retry_operation(const OperationId& id, UnixMs now) {
  return write<void>(kSynced, now,
                     [&](BankChange& change) { return retry_operation_row(change, id); });
}

Result<void> SqliteBankStore::delete_operation(const OperationId& id) {
  return write<void>(kSynced, 0,
                     [&](BankChange& change) { return delete_operation_row(change, id); });
}

}  // namespace windrow::memory
