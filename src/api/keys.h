// Keys: who may ask. The file has a line for each, made by `windrow keys add`, and no key itself:
//
//   # name   SHA-256 of the key        limits, none by default
//   alice    sha256:3b1f...            rpm=600 tpm=200000 in-flight=64 priority=normal
//
// A key is 256 bits of chance, so a plain hash of it tells nothing and costs nothing (slow hashes
// are for passwords people make up).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "dispatch/work_item.h"

namespace windrow::api {

struct KeyLimits {
  int64_t requests_per_minute = 0;  // 0: no limit, as the others
  int64_t tokens_per_minute = 0;
  int64_t in_flight_max = 0;
  dispatch::Urgency urgency_max = dispatch::Urgency::kInteractive;  // asks for more: gets this
};

struct Key {
  std::string name;
  std::string hash;  // 32 bytes
  KeyLimits limits;
};

// Any thread, once made.
class KeyRing {
 public:
  // Nobody needs a key.
  KeyRing() = default;

  // kInvalid names the line of `file_name` and what it should be.
  static Result<KeyRing> parse(std::string_view text, std::string_view file_name);

  bool demands_keys() const { return !keys_.empty(); }
  const std::vector<Key>& keys() const { return keys_; }

  // The index of the key with this text. Takes the same time whichever it is, and however much of
  // it is right.
  std::optional<size_t> find(std::string_view key) const;

 private:
  std::vector<Key> keys_;
};

// The key of a request: "Authorization: Bearer KEY" or "X-Api-Key: KEY"; empty: it has none.
// `windrow keys add` makes one.
struct NewKey {
  std::string key;   // "wr-" and 43 characters; told once
  std::string line;  // for the file
};
NewKey make_key(std::string_view name, std::string_view limits, std::string_view chance32);

}  // namespace windrow::api
