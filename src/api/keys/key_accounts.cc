#include "api/keys/key_accounts.h"

#include <algorithm>
#include <chrono>

namespace windrow::api {
namespace {

// How soon to ask again whether a revoked key exists.
constexpr Duration kLookForKey = std::chrono::seconds(1);

constexpr int kFirstFailure = 400;
constexpr int kTooMany = 429;
constexpr int kStatusClientLeft = 499;

void add(const llm::Usage& used, KeyUsage& usage) {
  usage.prompt_tokens += used.prompt_tokens;
  usage.cached_tokens += used.cached_tokens;
  usage.completion_tokens += used.completion_tokens;
}

int64_t tokens_of(const llm::Usage& usage) {
  return int64_t{usage.prompt_tokens} + usage.completion_tokens;
}

int64_t& counter_of(int status, KeyUsage& usage) {
  if (status == kStatusClientLeft) return usage.calls_left;
  if (status == kTooMany) return usage.calls_limited;
  return status >= kFirstFailure ? usage.calls_failed : usage.calls_answered;
}

}  // namespace

struct KeyAccounts::Account {
  Account(const KeyLimits& of_key, TimePoint now) : limits(of_key), allowance(of_key, now) {}

  KeyLimits limits;
  RateLimiter allowance;
  KeyUsage usage;
};

KeyAccounts::KeyAccounts(const Clock& clock, std::shared_ptr<const KeyRingHolder> keys)
    : clock_(clock), keys_(std::move(keys)) {}

KeyAccounts::~KeyAccounts() = default;

std::shared_ptr<const KeyRing> KeyAccounts::keys() const {
  return keys_ ? keys_->now() : nullptr;
}

// Nullopt if the key was revoked. If the server demands no keys, earlier ones have no limits.
std::optional<KeyLimits> KeyAccounts::limits_of(std::string_view key) const {
  const std::shared_ptr<const KeyRing> ring = keys();
  if (!ring) return KeyLimits{};
  const auto found = std::ranges::find(ring->keys(), key, &Key::name);
  if (found == ring->keys().end()) return std::nullopt;
  return found->limits;
}

// Called with the lock.
KeyAccounts::Account& KeyAccounts::at(std::string_view name, const KeyLimits& limits,
                                      TimePoint now) {
  auto found = accounts_.find(name);
  if (found == accounts_.end())
    found = accounts_.emplace(name, std::make_shared<Account>(limits, now)).first;
  Account& account = *found->second;
  if (account.limits != limits) {
    account.limits = limits;
    account.allowance.set_limits(limits, now);
  }
  return account;
}

KeyAccounts::Account& KeyAccounts::at(std::string_view name, TimePoint now) {
  return at(name, limits_of(name).value_or(KeyLimits{}), now);
}

// --- calls --------------------------------------------------------------------------------------

std::pair<KeyAccounts::AccountPtr, std::optional<llm::Failure>> KeyAccounts::enter(const Key& key,
                                                                                   TimePoint now) {
  const std::scoped_lock lock(mutex_);
  Account& account = at(key.name, key.limits, now);
  return {accounts_.find(key.name)->second, account.allowance.enter(now)};
}

std::optional<llm::Failure> KeyAccounts::take_tokens(Account& account, TimePoint now,
                                                     int64_t expected) {
  const std::scoped_lock lock(mutex_);
  auto failure = account.allowance.take_tokens(now, expected);
  if (failure) account.allowance.forget_request(now);
  return failure;
}

void KeyAccounts::leave(Account& account, TimePoint now, int64_t taken, int64_t used) {
  const std::scoped_lock lock(mutex_);
  account.allowance.settle_tokens(now, taken, used);
  account.allowance.leave();
}

void KeyAccounts::add_headers(const Account& account, TimePoint now, http::Headers& headers) const {
  const std::scoped_lock lock(mutex_);
  account.allowance.add_headers(now, headers);
}

void KeyAccounts::count(const RequestRecord& record) {
  // Only calls of a model count, and requests that a limit rejected before they became one.
  if (record.key.empty() || (!record.endpoint && record.status != kTooMany)) return;
  const std::scoped_lock lock(mutex_);
  const auto found = accounts_.find(record.key);
  if (found == accounts_.end()) return;
  KeyUsage& usage = found->second->usage;
  ++counter_of(record.status, usage);
  add(record.usage, usage);
}

// --- rows of batches ----------------------------------------------------------------------------

bool KeyAccounts::knows(std::string_view key) {
  return limits_of(key).has_value();
}

int32_t KeyAccounts::weight_of(std::string_view key) {
  return limits_of(key).value_or(KeyLimits{}).weight;
}

Duration KeyAccounts::take(std::string_view key, int64_t tokens) {
  const std::optional<KeyLimits> limits = limits_of(key);
  if (!limits) return kLookForKey;
  const TimePoint now = clock_.now();
  const std::scoped_lock lock(mutex_);
  return at(key, *limits, now).allowance.take_spare_tokens(now, tokens);
}

void KeyAccounts::ended(std::string_view key, int64_t taken, const llm::Usage& used,
                        batches::RowEnd how) {
  const TimePoint now = clock_.now();
  const std::scoped_lock lock(mutex_);
  Account& account = at(key, now);
  account.allowance.settle_tokens(now, taken, tokens_of(used));
  add(used, account.usage);
  if (how == batches::RowEnd::kAnswered) ++account.usage.rows_answered;
  if (how == batches::RowEnd::kFailed) ++account.usage.rows_failed;
}

std::vector<KeyReading> KeyAccounts::read() const {
  const std::scoped_lock lock(mutex_);
  std::vector<KeyReading> all;
  all.reserve(accounts_.size());
  for (const auto& [name, account] : accounts_) {
    all.push_back(
        {.name = name, .calls_live = account->allowance.in_flight(), .usage = account->usage});
  }
  return all;
}

}  // namespace windrow::api
