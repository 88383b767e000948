// KeyAccounts: for each API key what its limits still allow, and what it has used since the start,
// in calls and in rows of its batches. The limits are those of the current keys (keys.h).
//
//   requests per minute and in flight   for calls
//   tokens per minute                   for both: a call above the limit is rejected; a row of a
//                                       batch waits, and leaves half of each minute's tokens to
//                                       calls
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/keys/keys.h"
#include "api/keys/rate_limiter.h"
#include "api/pages/request_log.h"
#include "base/clock.h"
#include "batches/batch_host.h"
#include "http/headers.h"
#include "llm/answer.h"

namespace windrow::api {

// Since the start.
struct KeyUsage {
  int64_t calls_answered = 0;
  int64_t calls_limited = 0;  // 429: over a limit of the key, or of the server
  int64_t calls_left = 0;     // the client closed before the answer was complete
  int64_t calls_failed = 0;   // all others without an answer
  int64_t rows_answered = 0;
  int64_t rows_failed = 0;
  int64_t prompt_tokens = 0;  // of calls and rows, failed ones included
  int64_t cached_tokens = 0;
  int64_t completion_tokens = 0;

  friend bool operator==(const KeyUsage&, const KeyUsage&) = default;
};

struct KeyReading {
  std::string name;
  int64_t calls_live = 0;
  KeyUsage usage;

  // In the dispatchers, calls and rows; filled in by the caller, who knows these.
  int64_t waiting = 0;
  int64_t running = 0;
};

// Thread-safe. A key has an account from its first request on.
class KeyAccounts final : public batches::BatchKeys {
 public:
  // `keys` null: requests need no key. `clock` outlives it.
  KeyAccounts(const Clock& clock, std::shared_ptr<const KeyRingHolder> keys);
  ~KeyAccounts() override;
  KeyAccounts(const KeyAccounts&) = delete;
  KeyAccounts& operator=(const KeyAccounts&) = delete;

  // The current keys; null: requests need no key.
  std::shared_ptr<const KeyRing> keys() const;

  struct Account;
  using AccountPtr = std::shared_ptr<Account>;

  // --- calls ---

  // As RateLimiter::enter. The account is returned in either case.
  std::pair<AccountPtr, std::optional<llm::Failure>> enter(const Key& key, TimePoint now);

  // As RateLimiter::take_tokens; a call that is rejected does not count as a request either.
  std::optional<llm::Failure> take_tokens(Account& account, TimePoint now, int64_t expected);

  // A call that entered has ended: it took `taken` tokens and used `used`.
  void leave(Account& account, TimePoint now, int64_t taken, int64_t used);

  void add_headers(const Account& account, TimePoint now, http::Headers& headers) const;

  // Adds a request that has ended to its key's usage.
  void count(const RequestRecord& record);

  // --- rows of batches: batches::BatchKeys ---

  bool knows(std::string_view key) override;
  int32_t weight_of(std::string_view key) override;
  Duration take(std::string_view key, int64_t tokens) override;
  void ended(std::string_view key, int64_t taken, const llm::Usage& used,
             batches::RowEnd how) override;

  // By name.
  std::vector<KeyReading> read() const;

 private:
  std::optional<KeyLimits> limits_of(std::string_view key) const;
  Account& at(std::string_view name, const KeyLimits& limits, TimePoint now);
  Account& at(std::string_view name, TimePoint now);

  const Clock& clock_;
  const std::shared_ptr<const KeyRingHolder> keys_;

  mutable std::mutex mutex_;  // also guards every Account
  std::map<std::string, AccountPtr, std::less<>> accounts_;
};

}  // namespace windrow::api
