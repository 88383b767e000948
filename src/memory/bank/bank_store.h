// BankStore: what one bank remembers, in the words of memory banks. The seam to a database: nothing
// above it knows SQL. SqliteBankStore implements it; a server of databases could.
//
// Each method is one transaction. What changes memories of a client is on disk when the method
// returns, also after a power failure; effects of consolidation and stamps survive the end of the
// process, and a power failure may undo the last of them whole, stamps included, so the batch is
// simply done again.
//
// Thread-safe. All calls may block on the disk, none waits for a model. Errors: kNotFound,
// kConflict and kInvalid as the methods say; kDiskFull, kIo for the disk.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "memory/bank/bank.h"
#include "memory/bank/memory.h"
#include "memory/bank/operation.h"
#include "memory/bank/tag_filter.h"

namespace windrow::memory {

// --- documents ---

struct Document {
  std::string id;
  std::string text;
  Tags tags;
  std::string context;
  std::map<std::string, std::string> metadata;
  UnixMs created = 0;
  UnixMs updated = 0;
  int64_t memory_count = 0;
};

struct Chunk {
  std::string id;  // "bank_document_0"
  std::string document_id;
  int32_t index = 0;
  std::string text;
};

// Facts that come in together, whole or not at all.
struct Retained {
  std::vector<NewFact> facts;
  std::vector<Document> documents;  // created, or all but `created` replaced
  // The text of each of `documents` when it was read; absent: there was none. If one has another
  // text by now, nothing is stored.
  std::vector<std::optional<std::string>> texts_before;
  std::vector<Chunk> chunks;  // of these documents, new ones
  // Chunks of the documents that are gone: their facts go too, as delete_document does. They are
  // removed first, so a new chunk may have the id of one of them.
  std::vector<std::string> chunks_gone;
  bool consolidate = false;  // adds a consolidation, unless one is pending

  // The operation of which this is the work, if any: it is completed in the same transaction, so
  // that a process that ends right after it does not retain the same a second time.
  struct Work {
    OperationId operation;
    std::string worker;
    boost::json::object result;
  };
  std::optional<Work> work;
};

// --- lists ---

enum class ConsolidationState : uint8_t { kPending, kDone, kFailed };

struct MemoryQuery {
  std::vector<MemoryType> types;  // empty: all
  std::string text;               // a part of the text, in any case; empty: all
  std::optional<ConsolidationState> consolidation;
  std::optional<bool> valid;  // absent: valid ones
  std::string document_id;
  TagFilter tags;
  int64_t limit = 100;
  int64_t offset = 0;
};

struct MemoryPage {
  std::vector<Memory> memories;  // mentioned last first; without embeddings
  int64_t total = 0;
};

struct TagCount {
  std::string tag;
  int64_t count = 0;
};

struct EntityCount {
  std::string name;
  int64_t mentions = 0;  // facts
  std::optional<UnixMs> first_seen;
  std::optional<UnixMs> last_seen;
};

struct ScopeCount {
  Scope scope;
  int64_t count = 0;
};

struct BankStats {
  int64_t facts_world = 0;
  int64_t facts_experience = 0;
  int64_t observations = 0;
  int64_t documents = 0;
  int64_t pending_consolidation = 0;
  int64_t failed_consolidation = 0;
  std::optional<UnixMs> last_consolidated;
  std::map<std::string, int64_t, std::less<>> operations_by_status;
};

// --- search ---

struct Hit {
  MemoryId id;
  double score = 0;  // cosine, or BM25 (higher is better)
};

struct SearchFilter {
  std::vector<MemoryType> types;  // empty: all
  TagFilter tags;
};

// --- consolidation ---

// A fact that is not consolidated: as little as the schedule needs. `scopes_left` are those that
// its observations were not updated in yet, in their order.
struct PendingFact {
  MemoryId id;
  Tags tags;
  ObservationScopes scopes;
  std::vector<Scope> scopes_left;
};

// The version of a memory on which a decision was made.
struct Witness {
  MemoryId id;
  int64_t version = 0;
};

struct CreateObservation {
  MemoryId id;  // new
  std::string text;
  std::vector<MemoryId> sources;
};

struct UpdateObservation {
  MemoryId id;
  std::string text;                   // the new text; the same as before: only sources are added
  std::vector<MemoryId> new_sources;  // those that it has already do not count
};

// All effects of one response of the model (or of a fold), applied whole or not at all.
struct BatchEffects {
  Scope scope;
  std::vector<MemoryId> deletes;
  std::vector<UpdateObservation> updates;
  std::vector<CreateObservation> creates;

  // The facts of the batch: this scope is done for them, with the word of batch_result.h. A fact
  // whose last scope it is gets its consolidation stamp.
  struct FactDone {
    MemoryId id;
    std::string word;
  };
  std::vector<FactDone> facts;

  // If one of these has another version, is gone or is invalid, nothing is applied.
  std::vector<Witness> witnesses;

  int64_t observations_max = -1;  // of the scope, after this; -1: no limit
  int32_t history_max = 50;       // 0: no history
};

class BankStore {
 public:
  virtual ~BankStore() = default;

  virtual Result<Bank> bank() = 0;
  // Changes the bank: `edit` gets it and may return a failure, which is returned.
  virtual Result<Bank> edit_bank(const std::function<Result<void>(Bank&)>& edit) = 0;

  // --- facts. `now` is the time of the change. ---

  // The ids are those of `facts`, in order. kInvalid: an embedding has another length than the
  // bank's; kConflict: a document has changed since it was read, or the operation is
  // not the worker's any more. Nothing is stored then.
  virtual Result<std::vector<MemoryId>> retain(const Retained& retained, UnixMs now) = 0;

  // With embeddings. `memories`: those that exist, in the order of `ids`.
  virtual Result<Memory> memory(const MemoryId& id) = 0;  // kNotFound
  virtual Result<std::vector<Memory>> memories(std::span<const MemoryId> ids) = 0;
  virtual Result<MemoryPage> list(const MemoryQuery& query) = 0;
  virtual Result<std::vector<ObservationChange>> history(const MemoryId& id) = 0;  // newest first

  // Changes a fact of a client's. If text, tags, times or validity change, observations that have
  // it as a source are removed, and their other sources are consolidated again. kNotFound; kInvalid
  // for an observation.
  virtual Result<Memory> edit_memory(const MemoryId& id,
                                     const std::function<Result<void>(Memory&)>& edit,
                                     UnixMs now) = 0;

  // All memories of this type, or all; returns how many. Observations that lose a source as above.
  virtual Result<int64_t> clear(std::optional<MemoryType> type, UnixMs now) = 0;

  // The observations that have this fact as a source; their sources are consolidated again.
  virtual Result<int64_t> clear_observations_of(const MemoryId& fact, UnixMs now) = 0;

  virtual Result<std::vector<Document>> documents(std::string_view text, int64_t limit,
                                                  int64_t offset, int64_t* total) = 0;
  virtual Result<Document> document(std::string_view id) = 0;  // kNotFound
  virtual Result<std::vector<Chunk>> chunks(std::string_view document_id) = 0;
  virtual Result<Chunk> chunk(std::string_view id) = 0;                          // kNotFound
  virtual Result<int64_t> delete_document(std::string_view id, UnixMs now) = 0;  // its memories

  virtual Result<BankStats> stats() = 0;
  // Names that valid facts carry, in any case one; most mentioned first, of equal ones the last
  // seen.
  virtual Result<std::vector<EntityCount>> entities() = 0;
  virtual Result<std::vector<TagCount>> tags() = 0;      // most frequent first
  virtual Result<std::vector<ScopeCount>> scopes() = 0;  // of observations

  // --- search: valid memories only, best first ---

  // kInvalid if the vector has another length than the bank's.
  virtual Result<std::vector<Hit>> nearest(std::span<const float> vector,
                                           const SearchFilter& filter, int32_t hits_max) = 0;
  virtual Result<std::vector<Hit>> matching(std::string_view text, const SearchFilter& filter,
                                            int32_t hits_max) = 0;

  // --- consolidation ---

  // Facts to consolidate, in the order in which they came.
  virtual Result<std::vector<PendingFact>> pending_facts() = 0;

  // All observations of exactly this scope, with embeddings and sources, the oldest first.
  virtual Result<std::vector<Memory>> observations_of(const Scope& scope) = 0;

  // Facts that have this text (white space apart) and are the last source of an observation of
  // exactly this scope, with that observation: a repeated fact joins it without a model. Not
  // earlier sources: what was true before the last one was told, or before the observation was
  // reworded, need not be so now.
  struct Repeated {
    MemoryId fact;
    MemoryId observation;
  };
  virtual Result<std::vector<Repeated>> repeated(const Scope& scope,
                                                 std::span<const std::string> texts) = 0;

  // kConflict: a witness is stale; kUnavailable: the scope would have more than observations_max.
  // Nothing is applied then.
  virtual Result<void> apply(const BatchEffects& effects, UnixMs now) = 0;

  // Stamps facts whose consolidation is hopeless. One that has changed since is another fact.
  virtual Result<void> mark_failed(std::span<const Witness> facts, std::string_view reason,
                                   UnixMs now) = 0;
  // Clears these stamps, so that the facts are pending again; returns how many.
  virtual Result<int64_t> recover_failed(UnixMs now) = 0;

  // Valid memories that have no embedding, the oldest first.
  virtual Result<std::vector<Memory>> without_embedding(int64_t limit) = 0;
  // One whose text has changed since (`memory.version`), or that is gone, gets none.
  struct Embedding {
    Witness memory;
    std::vector<float> vector;
  };
  virtual Result<void> set_embeddings(std::span<const Embedding> embeddings) = 0;

  // --- operations ---

  // kConflict: the id exists.
  virtual Result<void> add_operation(const Operation& operation) = 0;
  // Adds a consolidation unless one without arguments is pending; the id of either.
  struct Submitted {
    OperationId id;
    bool deduplicated = false;
  };
  virtual Result<Submitted> submit_consolidation(const OperationId& id, UnixMs now) = 0;
  virtual Result<Operation> operation(const OperationId& id) = 0;  // kNotFound
  virtual Result<std::vector<Operation>> operations(std::optional<OperationStatus> status,
                                                    std::optional<OperationType> type,
                                                    int64_t limit, int64_t offset,
                                                    int64_t* total) = 0;
  // The oldest operation of this type that is due: pending, or processing with a lease that is
  // over. It is then `worker`'s until `now` + `lease_ms`. Nothing if there is none, or if another
  // one of the type is in progress. One that is taken over keeps its id, and has `taken_over` set.
  virtual Result<std::optional<Operation>> claim(OperationType type, std::string_view worker,
                                                 UnixMs now, int64_t lease_ms) = 0;
  // Ends the leases of all workers but this one: for a process that knows that no other one can be
  // working at the bank, so that it need not wait for those of a process that died.
  virtual Result<void> end_leases(std::string_view but_of, UnixMs now) = 0;
  // When the next operation of this type is due that claim() does not return yet: a retry, or the
  // end of a lease. Nothing: there is none.
  virtual Result<std::optional<UnixMs>> next_due(OperationType type) = 0;
  // Renews the lease and writes the progress, unless that is empty. kConflict: it was cancelled,
  // deleted or taken over; its worker stops.
  virtual Result<void> renew(const OperationId& id, std::string_view worker,
                             const boost::json::object& progress, UnixMs now, int64_t lease_ms) = 0;
  // Ends it (or, kPending, puts it back with next_retry). kConflict as renew.
  virtual Result<void> finish(const Operation& operation, std::string_view worker, UnixMs now) = 0;
  // Pending or processing; kConflict: it has ended. kNotFound.
  virtual Result<void> cancel_operation(const OperationId& id, UnixMs now) = 0;
  // Failed or cancelled to pending; kConflict: it is neither. kNotFound.
  virtual Result<void> retry_operation(const OperationId& id, UnixMs now) = 0;
  // An ended one; kConflict: it has not ended. kNotFound.
  virtual Result<void> delete_operation(const OperationId& id) = 0;
};

}  // namespace windrow::memory
