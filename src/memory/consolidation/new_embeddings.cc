#include "memory/consolidation/new_embeddings.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <variant>

#include "memory/consolidation/fold.h"

namespace windrow::memory {
namespace {

// Texts of one call of the embedding model.
constexpr size_t kTextsTogether = 64;

// kInvalid: the vectors do not fit the bank, and would not the next time.
llm::Failure of_store(const Error& error) {
  return {.failure_class = error.kind == ErrorKind::kInvalid ? llm::FailureClass::kRequest
                                                             : llm::FailureClass::kBackend,
          .status = 500,
          .code = std::string(kBankFailureCode),
          .message = error.message,
          .param = {}};
}

}  // namespace

NewEmbeddings::NewEmbeddings(BankStore& store, MemoryModels& models, async::Executor& executor,
                             const BankConfig& config, ModelCaller caller, bool active,
                             std::stop_token unwanted, std::function<void()> changed)
    : store_(store),
      models_(models),
      executor_(executor),
      config_(config),
      caller_(std::move(caller)),
      active_(active),
      unwanted_(std::move(unwanted)),
      changed_(std::move(changed)) {}

NewEmbeddings::~NewEmbeddings() {
  jobs_.wait_for_none();
}

void NewEmbeddings::add(const std::optional<Scope>& scope, const std::vector<MemoryId>& memories) {
  if (!active_ || memories.empty()) return;
  const auto texts = std::ssize(memories);
  {
    const std::scoped_lock lock(mutex_);
    if (failure_) return;
    pending_[scope] += texts;
  }
  Result<std::vector<Memory>> read = store_.memories(memories);
  if (!read) return ended(scope, texts, of_store(read.error()));
  // A text that kept its embedding needs no other one, and one may be gone by now.
  std::erase_if(*read, [](const Memory& memory) { return !memory.embedding.empty(); });
  // Before the first job, which may end at once, and the scope with it.
  ended(scope, texts - std::ssize(*read), std::nullopt);
  for (size_t begin = 0; begin < read->size(); begin += kTextsTogether) {
    const auto first = read->begin() + static_cast<ptrdiff_t>(begin);
    const size_t count = std::min(kTextsTogether, read->size() - begin);
    const auto last = first + static_cast<ptrdiff_t>(count);
    std::vector<std::string> job_texts;
    for (auto memory = first; memory != last; ++memory)
      job_texts.push_back(memory->text);
    jobs_.enter();
    embed(std::make_shared<Job>(
        scope, std::vector<Memory>(std::make_move_iterator(first), std::make_move_iterator(last)),
        FittingTexts(std::move(job_texts))));
  }
}

void NewEmbeddings::embed(const std::shared_ptr<Job>& job) {
  models_.embed(config_.embed_model, job->texts.texts(), caller_, unwanted_,
                [this, job](EmbedOutcome outcome) {
                  executor_.post([this, job, outcome = std::move(outcome)]() mutable {
                    const auto* const failure = std::get_if<llm::Failure>(&outcome);
                    if (failure != nullptr && job->texts.shorten(*failure)) return embed(job);
                    store_all(*job, std::move(outcome));
                    jobs_.leave();
                  });
                });
}

void NewEmbeddings::store_all(const Job& job, EmbedOutcome outcome) {
  const auto texts = std::ssize(job.memories);
  if (auto* failure = std::get_if<llm::Failure>(&outcome))
    return ended(job.scope, texts, std::move(*failure));
  const auto& vectors = std::get<std::vector<std::vector<float>>>(outcome);
  std::vector<BankStore::Embedding> embeddings;
  for (size_t i = 0; i < job.memories.size() && i < vectors.size(); ++i) {
    const Memory& memory = job.memories[i];
    embeddings.push_back(
        {.memory = {.id = memory.id, .version = memory.version}, .vector = vectors[i]});
  }
  const Result<void> set = store_.set_embeddings(embeddings);
  if (!set) return ended(job.scope, texts, of_store(set.error()));
  look_for_twins(job);
  ended(job.scope, texts, std::nullopt);
}

void NewEmbeddings::look_for_twins(const Job& job) {
  if (!job.scope || config_.consolidation_dedup_threshold >= 1) return;
  const Result<std::vector<Memory>> all = store_.observations_of(*job.scope);
  if (!all) return;  // a twin that is not found now is found at the next change
  for (const Memory& written : job.memories) {
    const auto now = std::ranges::find(*all, written.id, &Memory::id);
    if (now == all->end() || now->version != written.version) continue;
    const std::optional<MemoryId> twin = twin_of(*now, *all, config_.consolidation_dedup_threshold);
    if (!twin) continue;
    const std::scoped_lock lock(mutex_);
    const auto [one, other] = std::minmax(written.id, *twin);
    if (!seen_.emplace(one, other).second) continue;
    twins_[*job.scope].push_back({.newer = written.id, .older = *twin});
  }
}

void NewEmbeddings::ended(const std::optional<Scope>& scope, int64_t texts,
                          std::optional<llm::Failure> failure) {
  {
    const std::scoped_lock lock(mutex_);
    const auto pending = pending_.find(scope);
    pending->second -= texts;
    if (pending->second == 0) pending_.erase(pending);
    if (failure && !failure_) failure_ = std::move(failure);
  }
  changed_();
}

bool NewEmbeddings::has_room(const Scope& scope) const {
  const std::scoped_lock lock(mutex_);
  const auto pending = pending_.find(scope);
  return pending == pending_.end() || pending->second <= kPendingMax;
}

bool NewEmbeddings::idle() const {
  const std::scoped_lock lock(mutex_);
  return pending_.empty();
}

std::vector<Twins> NewEmbeddings::take_twins(const Scope& scope) {
  const std::scoped_lock lock(mutex_);
  const auto found = twins_.find(scope);
  if (found == twins_.end()) return {};
  std::vector<Twins> twins = std::move(found->second);
  twins_.erase(found);
  return twins;
}

std::vector<Scope> NewEmbeddings::scopes_with_twins() const {
  const std::scoped_lock lock(mutex_);
  std::vector<Scope> scopes;
  scopes.reserve(twins_.size());
  for (const auto& [scope, twins] : twins_)
    scopes.push_back(scope);
  return scopes;
}

std::optional<llm::Failure> NewEmbeddings::failure() const {
  const std::scoped_lock lock(mutex_);
  return failure_;
}

}  // namespace windrow::memory
