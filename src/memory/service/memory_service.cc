#include "memory/service/memory_service.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "base/hash.h"
#include "base/utf8.h"
#include "memory/bank/embedding_model.h"
#include "memory/bank/new_id.h"
#include "memory/retain/retain_embeddings.h"
#include "memory/retain/retain_payload.h"

namespace windrow::memory {
namespace {

namespace json = boost::json;

template <class T>
const llm::Failure* failure_in(const Reply<T>& reply) {
  return std::get_if<llm::Failure>(&reply);
}

llm::Failure not_started() {
  return {.failure_class = llm::FailureClass::kTransient,
          .status = 503,
          .code = "loading",
          .message = "the models of the server are being loaded; try again in a moment",
          .param = {},
          .overloaded = true};
}

llm::Failure no_bank(const BankId& id) {
  return {.failure_class = llm::FailureClass::kRequest,
          .status = 404,
          .code = "bank_not_found",
          .message = fmt::format("there is no memory bank \"{}\"", id.text),
          .param = "bank_id"};
}

Result<std::string> text_member(const json::value& value, std::string_view name) {
  if (value.is_string()) return std::string(value.get_string());
  return Error{ErrorKind::kInvalid, fmt::format("{} must be a text", name)};
}

Result<int32_t> trait(const json::object& disposition, std::string_view name, int32_t before) {
  const json::value* value = disposition.if_contains(name);
  if (value == nullptr || value->is_null()) return before;
  if (value->is_int64() && value->get_int64() >= 1 && value->get_int64() <= 5)
    return static_cast<int32_t>(value->get_int64());
  return Error{ErrorKind::kInvalid,
               fmt::format("disposition.{} must be a whole number from 1 to 5", name)};
}

Result<Disposition> disposition_of(const json::value& value, const Disposition& before) {
  if (!value.is_object())
    return Error{ErrorKind::kInvalid,
                 "disposition must be an object with skepticism, literalism and empathy"};
  const json::object& object = value.get_object();
  const Result<int32_t> skepticism = trait(object, "skepticism", before.skepticism);
  if (!skepticism) return skepticism.error();
  const Result<int32_t> literalism = trait(object, "literalism", before.literalism);
  if (!literalism) return literalism.error();
  const Result<int32_t> empathy = trait(object, "empathy", before.empathy);
  if (!empathy) return empathy.error();
  return Disposition{.skepticism = *skepticism, .literalism = *literalism, .empathy = *empathy};
}

// One member of a change of a bank.
Result<void> set_member(Bank& bank, std::string_view name, const json::value& value,
                        const BankConfig& defaults) {
  if (name == "disposition") {
    const Result<Disposition> disposition = disposition_of(value, bank.disposition);
    if (!disposition) return disposition.error();
    bank.disposition = *disposition;
    return {};
  }
  for (const auto& [member, text] : {std::pair{std::string_view("name"), &bank.name},
                                     std::pair{std::string_view("mission"), &bank.mission},
                                     std::pair{std::string_view("background"), &bank.background}}) {
    if (name != member) continue;
    Result<std::string> read = text_member(value, name);
    if (!read) return read.error();
    *text = *std::move(read);
    return {};
  }
  json::object overrides = bank.overrides;
  overrides[name] = value;
  const Result<BankConfig> checked = with_overrides(defaults, overrides);
  if (!checked) return checked.error();
  bank.overrides = std::move(overrides);
  return {};
}

// Null takes a member back to its default.
Result<void> change_bank(Bank& bank, const json::object& change, const BankConfig& defaults) {
  for (const auto& [name, value] : change) {
    if (value.is_null()) {
      bank.overrides.erase(name);
      continue;
    }
    const Result<void> set = set_member(bank, name, value, defaults);
    if (!set) return set.error();
  }
  return {};
}

int64_t memories_of(const BankStats& stats) {
  return stats.facts_world + stats.facts_experience + stats.observations;
}

}  // namespace

Result<std::unique_ptr<MemoryService>> MemoryService::open(store::Disk& disk, const Clock& clock,
                                                           MemoryServiceOptions options) {
  Result<std::unique_ptr<BankRegistry>> banks =
      BankRegistry::open(options.folder, disk, clock, {.warn = options.runner.warn});
  if (!banks) return banks.error();
  options.runner.defaults = options.defaults;
  if (options.runner.worker.empty()) options.runner.worker = new_uuid();
  return std::unique_ptr<MemoryService>(
      new MemoryService(*std::move(banks), clock, std::move(options)));
}

MemoryService::MemoryService(std::unique_ptr<BankRegistry> banks, const Clock& clock,
                             MemoryServiceOptions options)
    : banks_(std::move(banks)), clock_(clock), options_(std::move(options)) {}

MemoryService::~MemoryService() {
  stop();
}

void MemoryService::start(MemoryModels& models) {
  runner_ = std::make_unique<OperationRunner>(*banks_, models, clock_, options_.runner);
  models_ = &models;
  runner_->start();
}

void MemoryService::stop() {
  if (is_started()) runner_->stop();
}

bool MemoryService::is_started() const {
  return models_ != nullptr;
}

void MemoryService::notify(const BankId& id) {
  if (is_started()) runner_->notify(id);
}

RunnerReadings MemoryService::readings() const {
  return is_started() ? runner_->readings() : RunnerReadings{};
}

// --- banks -------------------------------------------------------------------------------------

Reply<MemoryService::OpenBank> MemoryService::open_bank(const Viewer& viewer,
                                                        const BankId& id) const {
  Result<std::shared_ptr<BankStore>> store = banks_->bank(id);
  if (!store) return unopened(id, store.error());
  Result<Bank> bank = (*store)->bank();
  if (!bank && bank.error().kind == ErrorKind::kNotFound) return no_bank(id);
  if (!bank) return failure_of(bank.error(), "bank");
  if (!viewer.sees(bank->owner)) return no_bank(id);
  return OpenBank{.store = *std::move(store), .bank = *std::move(bank)};
}

Reply<MemoryService::ReadyBank> MemoryService::ready_bank(const Viewer& viewer,
                                                          const BankId& id) const {
  if (!is_started()) return not_started();
  Reply<OpenBank> open = open_bank(viewer, id);
  if (const auto* failure = failure_in(open)) return *failure;
  auto& bank = std::get<OpenBank>(open);
  Result<BankConfig> config = with_overrides(options_.defaults, bank.bank.overrides);
  if (!config) return failure_of(config.error(), "bank");
  return ReadyBank{std::move(bank), *std::move(config)};
}

Reply<MemoryService::OpenBank> MemoryService::open_or_create(const Viewer& viewer,
                                                             const BankId& id) const {
  Result<std::shared_ptr<BankStore>> store = banks_->bank_or_new(id, viewer.key);
  if (!store) return unopened(id, store.error());
  return open_bank(viewer, id);
}

// A client cannot mend a bank file that is damaged or of a later version: the client gets a 500
// without details, and the operator gets the error.
llm::Failure MemoryService::unopened(const BankId& id, const Error& error) const {
  if (error.kind == ErrorKind::kNotFound) return no_bank(id);
  if (options_.runner.warn) options_.runner.warn(error.message);
  const bool is_full = error.kind == ErrorKind::kDiskFull;
  return failure_of({is_full ? error.kind : ErrorKind::kIo, error.message}, "bank");
}

ModelCaller MemoryService::caller_of(const OpenBank& open, llm::Priority priority) const {
  return {.key = open.bank.owner, .part = hash64(open.bank.id.text), .priority = priority};
}

Reply<std::vector<BankView>> MemoryService::banks(const Viewer& viewer, std::string_view text,
                                                  int64_t limit, int64_t offset, int64_t* total) {
  const Result<std::vector<BankId>> ids = banks_->list();
  if (!ids) return failure_of(ids.error(), "bank");
  std::vector<BankView> views;
  int64_t seen = 0;
  for (const BankId& id : *ids) {
    if (id.text.find(text) == std::string::npos) continue;
    Reply<OpenBank> open = open_bank(viewer, id);
    // Removed meanwhile, of another key, or damaged: the log says so.
    if (failure_in(open) != nullptr) continue;
    const int64_t index = seen++;
    if (index < offset || index >= offset + limit) continue;
    auto& bank = std::get<OpenBank>(open);
    const Result<BankStats> stats = bank.store->stats();
    if (!stats) return failure_of(stats.error(), "bank");
    views.push_back({.bank = std::move(bank.bank), .memory_count = memories_of(*stats)});
  }
  if (total != nullptr) *total = seen;
  return views;
}

Reply<BankView> MemoryService::bank(const Viewer& viewer, const BankId& id) {
  Reply<OpenBank> open = open_bank(viewer, id);
  if (const auto* failure = failure_in(open)) return *failure;
  auto& bank = std::get<OpenBank>(open);
  const Result<BankStats> stats = bank.store->stats();
  if (!stats) return failure_of(stats.error(), "bank");
  return BankView{.bank = std::move(bank.bank), .memory_count = memories_of(*stats)};
}

Reply<BankView> MemoryService::edit(const BankId& id, const OpenBank& open,
                                    const json::object& change) {
  const Result<Bank> edited = open.store->edit_bank([&](Bank& bank) -> Result<void> {
    const Result<void> changed = change_bank(bank, change, options_.defaults);
    if (!changed) return changed.error();
    bank.updated = now_ms();
    return {};
  });
  if (!edited) return failure_of(edited.error(), "bank");
  const Result<BankStats> stats = open.store->stats();
  if (!stats) return failure_of(stats.error(), "bank");
  notify(id);
  return BankView{.bank = *edited, .memory_count = memories_of(*stats)};
}

Reply<BankView> MemoryService::put_bank(const Viewer& viewer, const BankId& id,
                                        const json::object& change) {
  // A change that cannot be made creates no bank.
  Bank scratch;
  const Result<void> possible = change_bank(scratch, change, options_.defaults);
  if (!possible) return failure_of(possible.error(), "bank");
  const Reply<OpenBank> open = open_or_create(viewer, id);
  if (const auto* failure = failure_in(open)) return *failure;
  return edit(id, std::get<OpenBank>(open), change);
}

Reply<BankView> MemoryService::patch_bank(const Viewer& viewer, const BankId& id,
                                          const json::object& change) {
  const Reply<OpenBank> open = open_bank(viewer, id);
  if (const auto* failure = failure_in(open)) return *failure;
  return edit(id, std::get<OpenBank>(open), change);
}

Reply<int64_t> MemoryService::delete_bank(const Viewer& viewer, const BankId& id) {
  Reply<OpenBank> open = open_bank(viewer, id);
  if (const auto* failure = failure_in(open)) return *failure;
  const Result<BankStats> stats = std::get<OpenBank>(open).store->stats();
  if (!stats) return failure_of(stats.error(), "bank");
  open = no_bank(id);  // the store is not held while its file is removed
  const Result<void> removed = banks_->remove(id);
  if (!removed) return failure_of(removed.error(), "bank");
  return memories_of(*stats);
}

Reply<MemoryService::ConfigView> MemoryService::config_of(const Bank& bank) const {
  Result<BankConfig> config = with_overrides(options_.defaults, bank.overrides);
  if (!config) return failure_of(config.error(), "bank");
  return ConfigView{.config = *std::move(config), .overrides = bank.overrides};
}

Reply<MemoryService::ConfigView> MemoryService::config(const Viewer& viewer, const BankId& id) {
  const Reply<OpenBank> open = open_bank(viewer, id);
  if (const auto* failure = failure_in(open)) return *failure;
  return config_of(std::get<OpenBank>(open).bank);
}

Reply<MemoryService::ConfigView> MemoryService::patch_config(const Viewer& viewer, const BankId& id,
                                                             const json::object& updates) {
  const Reply<OpenBank> open = open_bank(viewer, id);
  if (const auto* failure = failure_in(open)) return *failure;
  const Result<Bank> edited =
      std::get<OpenBank>(open).store->edit_bank([&](Bank& bank) -> Result<void> {
        json::object overrides = bank.overrides;
        for (const auto& [name, value] : updates) {
          if (value.is_null()) {
            overrides.erase(name);
          } else {
            overrides[name] = value;
          }
        }
        const Result<BankConfig> checked = with_overrides(options_.defaults, overrides);
        if (!checked) return checked.error();
        bank.overrides = std::move(overrides);
        bank.updated = now_ms();
        return {};
      });
  if (!edited) return failure_of(edited.error(), "bank");
  return config_of(*edited);
}

Reply<MemoryService::ConfigView> MemoryService::reset_config(const Viewer& viewer,
                                                             const BankId& id) {
  const Reply<OpenBank> open = open_bank(viewer, id);
  if (const auto* failure = failure_in(open)) return *failure;
  const Result<Bank> edited =
      std::get<OpenBank>(open).store->edit_bank([&](Bank& bank) -> Result<void> {
        bank.overrides.clear();
        bank.updated = now_ms();
        return {};
      });
  if (!edited) return failure_of(edited.error(), "bank");
  return config_of(*edited);
}

// --- memories ----------------------------------------------------------------------------------

Reply<RetainReceipt> MemoryService::retain(const Viewer& viewer, const BankId& id,
                                           std::vector<RetainItem> items, bool in_background,
                                           std::optional<OperationId> operation) {
  if (!is_started()) return not_started();
  if (items.empty()) return invalid("items is empty; it must have at least one", "items");
  if (std::ssize(items) > options_.items_max) {
    return invalid(fmt::format("items has {} entries, more than {}; send them in several requests",
                               items.size(), options_.items_max),
                   "items");
  }
  const Reply<OpenBank> open = open_or_create(viewer, id);
  if (const auto* failure = failure_in(open)) return *failure;
  const auto& bank = std::get<OpenBank>(open);
  if (in_background) {
    // What is said now is said now, whenever it is done.
    for (RetainItem& item : items)
      if (!item.timestamp && !item.timestamp_unset) item.timestamp = now_ms();
    Operation work{.id = operation.value_or(OperationId{new_uuid()}),
                   .type = OperationType::kRetain,
                   .payload = payload_of(items)};
    work.created = work.updated = now_ms();
    const Result<void> added = bank.store->add_operation(work);
    if (!added && added.error().kind == ErrorKind::kConflict) {
      llm::Failure failure = failure_of(added.error(), "operation");
      failure.message =
          fmt::format("there is an operation {} already; take another operation_id", work.id.text);
      failure.param = "operation_id";
      return failure;
    }
    if (!added) return failure_of(added.error(), "operation");
    runner_->notify(id);
    return RetainReceipt{.memories = {}, .operation = work.id, .usage = {}};
  }
  const Result<BankConfig> config = with_overrides(options_.defaults, bank.bank.overrides);
  if (!config) return failure_of(config.error(), "bank");
  RetainOutcome outcome = memory::retain(*bank.store, *models_, *config, items,
                                         caller_of(bank, llm::Priority::kNormal), clock_);
  if (auto* failure = std::get_if<llm::Failure>(&outcome)) return std::move(*failure);
  runner_->notify(id);
  auto& report = std::get<RetainReport>(outcome);
  return RetainReceipt{
      .memories = std::move(report.memories), .operation = {}, .usage = report.usage};
}

Reply<RecallResult> MemoryService::recall(const Viewer& viewer, const BankId& id,
                                          const RecallQuery& query) {
  const Reply<ReadyBank> ready = ready_bank(viewer, id);
  if (const auto* failure = failure_in(ready)) return *failure;
  const auto& bank = std::get<ReadyBank>(ready);
  return memory::recall(*bank.store, *models_, bank.config, query,
                        caller_of(bank, llm::Priority::kInteractive));
}

Reply<ReflectAnswer> MemoryService::reflect(const Viewer& viewer, const BankId& id,
                                            const ReflectQuery& query) {
  const Reply<ReadyBank> ready = ready_bank(viewer, id);
  if (const auto* failure = failure_in(ready)) return *failure;
  const auto& bank = std::get<ReadyBank>(ready);
  return memory::reflect(*bank.store, *models_, bank.config, query,
                         caller_of(bank, llm::Priority::kInteractive));
}

void MemoryService::embed_edited(const Viewer& viewer, const BankId& id, const Memory& memory) {
  if (!memory.embedding.empty()) return;
  const Reply<ReadyBank> ready = ready_bank(viewer, id);
  const auto* bank = std::get_if<ReadyBank>(&ready);
  if (bank == nullptr) return;
  MemoryModels& models = *models_;
  const std::string& model = bank->config.embed_model;
  if (models.embed_fault(model) ||
      !check_embedding_model(bank->bank, models.embed_model_name(model)))
    return;
  std::vector<NewFact> texts(1);
  texts.front().text = memory.text;
  if (embed_facts(texts, models, model, caller_of(*bank, llm::Priority::kInteractive), {})) return;
  const std::vector<BankStore::Embedding> embeddings = {
      {.memory = {.id = memory.id, .version = memory.version},
       .vector = std::move(texts.front().embedding)}};
  const Result<void> set = bank->store->set_embeddings(embeddings);
  if (!set && options_.runner.warn) options_.runner.warn(set.error().message);
}

Reply<std::shared_ptr<BankStore>> MemoryService::store(const Viewer& viewer, const BankId& id) {
  Reply<OpenBank> open = open_bank(viewer, id);
  if (auto* failure = std::get_if<llm::Failure>(&open)) return std::move(*failure);
  return std::move(std::get<OpenBank>(open).store);
}

// --- consolidation and operations --------------------------------------------------------------

Reply<BankStore::Submitted> MemoryService::consolidate(const Viewer& viewer, const BankId& id) {
  const Reply<ReadyBank> ready = ready_bank(viewer, id);
  if (const auto* failure = failure_in(ready)) return *failure;
  const auto& bank = std::get<ReadyBank>(ready);
  if (!bank.config.enable_observations) {
    return invalid(
        "observations are off for this bank; set enable_observations in its configuration",
        "enable_observations");
  }
  if (std::optional<llm::Failure> fault = models_.load()->chat_fault(bank.config.chat_model))
    return *std::move(fault);
  Result<BankStore::Submitted> submitted =
      bank.store->submit_consolidation(OperationId{new_uuid()}, now_ms());
  if (!submitted) return failure_of(submitted.error(), "operation");
  runner_->notify(id);
  return *std::move(submitted);
}

Reply<int64_t> MemoryService::recover(const Viewer& viewer, const BankId& id) {
  if (!is_started()) return not_started();
  const Reply<OpenBank> open = open_bank(viewer, id);
  if (const auto* failure = failure_in(open)) return *failure;
  const auto& bank = std::get<OpenBank>(open);
  const Result<int64_t> recovered = bank.store->recover_failed(now_ms());
  if (!recovered) return failure_of(recovered.error(), "bank");
  if (*recovered > 0) {
    const Result<BankStore::Submitted> submitted =
        bank.store->submit_consolidation(OperationId{new_uuid()}, now_ms());
    if (!submitted) return failure_of(submitted.error(), "operation");
    runner_->notify(id);
  }
  return *recovered;
}

Reply<Operation> MemoryService::operation_of(const OpenBank& open,
                                             const OperationId& operation) const {
  Result<Operation> found = open.store->operation(operation);
  if (!found) return failure_of(found.error(), "operation");
  return *std::move(found);
}

Reply<Operation> MemoryService::cancel(const Viewer& viewer, const BankId& id,
                                       const OperationId& operation) {
  const Reply<OpenBank> open = open_bank(viewer, id);
  if (const auto* failure = failure_in(open)) return *failure;
  const auto& bank = std::get<OpenBank>(open);
  const Result<void> cancelled = bank.store->cancel_operation(operation, now_ms());
  if (!cancelled) return failure_of(cancelled.error(), "operation");
  if (is_started()) runner_->cancel(id, operation);
  return operation_of(bank, operation);
}

Reply<Operation> MemoryService::retry(const Viewer& viewer, const BankId& id,
                                      const OperationId& operation) {
  const Reply<OpenBank> open = open_bank(viewer, id);
  if (const auto* failure = failure_in(open)) return *failure;
  const auto& bank = std::get<OpenBank>(open);
  const Result<void> retried = bank.store->retry_operation(operation, now_ms());
  if (!retried) return failure_of(retried.error(), "operation");
  notify(id);
  return operation_of(bank, operation);
}

}  // namespace windrow::memory
