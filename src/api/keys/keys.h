// Keys: who may ask. The file has a line for each, made by `windrow keys add`, and no key itself:
//
//   # name   SHA-256 of the key        limits, none by default
//   alice    sha256:3b1f...            rpm=600 tpm=200000 in-flight=64 priority=normal weight=3
//   monitor  sha256:90ac...            admin
//
// A key is 256 bits of chance, so a plain hash of it tells nothing and costs nothing (slow hashes
// are for passwords people make up).
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "dispatch/work_item.h"
#include "http/headers.h"

namespace windrow::api {

struct KeyLimits {
  int64_t requests_per_minute = 0;  // 0: no limit, as the others
  int64_t tokens_per_minute = 0;
  int64_t in_flight_max = 0;
  dispatch::Priority priority_max = dispatch::Priority::kInteractive;  // asks for more: gets this

  // Of keys that want more than there is, each gets its weight's part.
  int32_t weight = 1;

  friend bool operator==(const KeyLimits&, const KeyLimits&) = default;
};

struct Key {
  std::string name;  // 1 to 64 of A-Z a-z 0-9 . _ - @, so that it needs no quotes anywhere
  std::string hash;  // 32 bytes
  KeyLimits limits;
  bool admin = false;  // sees the requests of others, too

  friend bool operator==(const Key&, const Key&) = default;
};

// Any thread, once made.
class KeyRing {
 public:
  // Nobody needs a key.
  KeyRing() = default;

  // The keys of a file: from now on requests need one of them. A file without a key admits nobody,
  // so that the last key can be revoked. kInvalid names the line of `file_name` and what it should
  // be.
  static Result<KeyRing> parse(std::string_view text, std::string_view file_name);

  // Whether requests need a key; also true where there is none to be had.
  bool demands_keys() const { return demands_keys_; }
  const std::vector<Key>& keys() const { return keys_; }

  // The index of the key with this text. Takes the same time whichever it is, and however much of
  // it is right.
  std::optional<size_t> find(std::string_view key) const;

 private:
  bool demands_keys_ = false;  // the keys come from a file, whether it has any or not
  std::vector<Key> keys_;
};

// The keys of the present moment; a reading stays what it is when they change. Thread-safe.
class KeyRingHolder {
 public:
  explicit KeyRingHolder(KeyRing keys);

  std::shared_ptr<const KeyRing> now() const;
  void set(KeyRing keys);

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const KeyRing> keys_;
};

// The key of a request: "Authorization: Bearer KEY", else "X-Api-Key: KEY"; empty: it has none.
// Good as long as the headers.
std::string_view presented_key(const http::Headers& headers);

// `windrow keys add` makes one. `limits` as the file has them, separated by spaces; kInvalid for
// a name or limits the file cannot have. `chance32` is 32 bytes nobody can guess
// (base/crypto.h).
struct NewKey {
  std::string key;   // "wr-" and 43 characters; told once
  std::string line;  // for the file
};
Result<NewKey> make_key(std::string_view name, std::string_view limits, std::string_view chance32);

// The text of a file of keys with one more line; `text` is empty for a new file. kConflict: there
// is one of this name; else as KeyRing::parse.
Result<std::string> with_key(std::string_view text, std::string_view file_name, const NewKey& key);

}  // namespace windrow::api
