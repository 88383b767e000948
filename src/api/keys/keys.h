// Keys: the API keys that the server accepts. A file has one line for each, made by
// `windrow keys add`, without the key itself:
//
//   # name   SHA-256 of the key        limits, none by default
//   alice    sha256:3b1f...            rpm=600 tpm=200000 in-flight=64 priority=normal weight=3
//   monitor  sha256:90ac...            admin
//
// A key has 256 random bits, so a plain hash is enough; slow hashes are for passwords that people
// choose.
//
//   auto file = KeyFile::open(disk, path);      // at the start; an error ends the program
//   options.keys = (*file)->keys();
//   (*file)->refresh();                          // every few seconds, and on SIGHUP
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
#include "store/disk.h"

namespace windrow::api {

struct KeyLimits {
  // 0: no limit.
  int64_t requests_per_minute = 0;
  int64_t tokens_per_minute = 0;
  int64_t in_flight_max = 0;
  dispatch::Priority priority_max = dispatch::Priority::kInteractive;  // higher ones are lowered

  // The key's share of a busy server, relative to other keys.
  int32_t weight = 1;

  friend bool operator==(const KeyLimits&, const KeyLimits&) = default;
};

struct Key {
  std::string name;  // 1 to 64 of A-Z a-z 0-9 . _ - @, so it never needs quotes
  std::string hash;  // 32 bytes
  KeyLimits limits;
  bool admin = false;  // may see the requests of all keys and load and unload models

  friend bool operator==(const Key&, const Key&) = default;
};

// Immutable, so any thread may use it.
class KeyRing {
 public:
  // Requests need no key.
  KeyRing() = default;

  // The keys of a file: requests need one of them. A file without keys admits no request, so that
  // the last key can be revoked. kInvalid names the line of `file_name` and what it should be.
  static Result<KeyRing> parse(std::string_view text, std::string_view file_name);

  // True if requests need a key, even if there is none.
  bool demands_keys() const { return demands_keys_; }
  const std::vector<Key>& keys() const { return keys_; }

  // The index of this key. Takes the same time for every text, so that it reveals nothing.
  std::optional<size_t> find(std::string_view key) const;

 private:
  bool demands_keys_ = false;  // the keys come from a file, whether it has any or not
  std::vector<Key> keys_;
};

// The current keys. A ring that was read stays as it is when they change. Thread-safe.
class KeyRingHolder {
 public:
  explicit KeyRingHolder(KeyRing keys);

  std::shared_ptr<const KeyRing> now() const;
  void set(KeyRing keys);

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const KeyRing> keys_;
};

// The key in "Authorization: Bearer KEY", else in "X-Api-Key: KEY"; empty if there is none. Valid
// as long as the headers.
std::string_view presented_key(const http::Headers& headers);

// Makes a key, for `windrow keys add`. `limits` as in the file, separated by spaces; kInvalid for a
// name or limits that the file cannot have. `chance32` is 32 secret bytes (base/crypto.h).
struct NewKey {
  std::string key;   // "wr-" and 43 characters; shown once
  std::string line;  // for the file
};
Result<NewKey> make_key(std::string_view name, std::string_view limits, std::string_view chance32);

// The text of a key file with one more line; `text` is empty for a new file. kConflict: the name
// exists; else as KeyRing::parse.
Result<std::string> with_key(std::string_view text, std::string_view file_name, const NewKey& key);

// KeyFile: keeps a KeyRingHolder as a key file says, also when the file changes. Used by one thread
// at a time; the holder by any.
class KeyFile {
 public:
  // Errors of the disk and of KeyRing::parse. `disk` outlives it.
  static Result<std::unique_ptr<KeyFile>> open(store::Disk& disk, std::string path);

  const std::shared_ptr<KeyRingHolder>& keys() const { return keys_; }

  // Reads the file again. True if other keys apply from now on, false if nothing changed. After an
  // error the earlier keys apply; a repeated error is returned once, then false.
  Result<bool> refresh();

  // A warning for the operator if other users of the machine may read or write the file; else
  // empty.
  std::string warning() const;

 private:
  KeyFile(store::Disk& disk, std::string path, std::string text, KeyRing keys);

  store::Disk& disk_;
  const std::string path_;
  std::string text_;  // as last read
  std::string error_;
  std::shared_ptr<KeyRingHolder> keys_;
};

}  // namespace windrow::api
