#include "api/keys/keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

#include "api/calls/envelope.h"
#include "base/crypto.h"
#include "base/ensure.h"
#include "base/text_encoding.h"

namespace windrow::api {
namespace {

constexpr std::string_view kHashMark = "sha256:";
constexpr size_t kNameBytesMax = 64;
constexpr size_t kSecretBytes = 32;

// Larger than any request, and small enough that sums do not overflow.
constexpr int64_t kLimitMax = 1'000'000'000'000;
constexpr int64_t kWeightMax = 1000;

constexpr std::string_view kWhatLimits =
    "rpm=N, tpm=N or in-flight=N with N from 1 to 1000000000000, "
    "priority=interactive, normal or batch, weight=N with N from 1 to 1000, or admin";

Error fault(std::string message) {
  return Error{ErrorKind::kInvalid, std::move(message)};
}

bool is_name(std::string_view name) {
  return !name.empty() && name.size() <= kNameBytesMax && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-' || c == '@';
  });
}

Result<void> check_name(std::string_view name) {
  if (is_name(name)) return {};
  return fault(
      fmt::format("a key's name is 1 to {} letters, digits or . _ - @ of ASCII; this one is not",
                  kNameBytesMax));
}

std::vector<std::string_view> words_of(std::string_view line) {
  constexpr std::string_view kBlank = " \t\r";
  std::vector<std::string_view> words;
  for (size_t at = line.find_first_not_of(kBlank); at < line.size();
       at = line.find_first_not_of(kBlank, at)) {
    const size_t end = std::min(line.find_first_of(kBlank, at), line.size());
    if (line[at] == '#') break;
    words.push_back(line.substr(at, end - at));
    at = end;
  }
  return words;
}

std::optional<int> hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return std::nullopt;
}

std::optional<std::string> parse_hash(std::string_view word) {
  if (!word.starts_with(kHashMark)) return std::nullopt;
  word.remove_prefix(kHashMark.size());
  if (word.size() != 64) return std::nullopt;
  std::string bytes;
  for (size_t i = 0; i < word.size(); i += 2) {
    const std::optional<int> high = hex_digit(word[i]);
    const std::optional<int> low = hex_digit(word[i + 1]);
    if (!high || !low) return std::nullopt;
    bytes += static_cast<char>(*high * 16 + *low);
  }
  return bytes;
}

std::string hash_of(std::string_view key) {
  Sha256 hash;
  hash.add(key);
  return hash.finish_bytes();
}

// False if it is not a known limit.
bool read_limit(std::string_view word, Key& key) {
  if (word == "admin") {
    key.admin = true;
    return true;
  }
  const size_t sign = word.find('=');
  if (sign == std::string_view::npos) return false;
  const std::string_view name = word.substr(0, sign);
  const std::string_view value = word.substr(sign + 1);
  if (name == "priority") {
    const auto priority = parse_priority(value);
    if (priority) key.limits.priority_max = *priority;
    return priority.has_value();
  }
  int64_t number = 0;
  const auto read = std::from_chars(value.data(), value.data() + value.size(), number);
  if (read.ec != std::errc() || read.ptr != value.data() + value.size() || number < 1 ||
      number > kLimitMax) {
    return false;
  }
  if (name == "rpm") {
    key.limits.requests_per_minute = number;
  } else if (name == "tpm") {
    key.limits.tokens_per_minute = number;
  } else if (name == "in-flight") {
    key.limits.in_flight_max = number;
  } else if (name == "weight" && number <= kWeightMax) {
    key.limits.weight = static_cast<int32_t>(number);
  } else {
    return false;
  }
  return true;
}

Result<void> read_limits(const std::vector<std::string_view>& words, size_t from, Key& key) {
  std::vector<std::string_view> seen;
  for (size_t i = from; i < words.size(); ++i) {
    const std::string_view name = words[i].substr(0, words[i].find('='));
    if (!read_limit(words[i], key))
      return fault(fmt::format("word {} is no limit; it must be {}", i + 1, kWhatLimits));
    if (std::ranges::find(seen, name) != seen.end())
      return fault(fmt::format("{} is given twice; leave one", name));
    seen.push_back(name);
  }
  return {};
}

// The line may have a pasted key, so errors repeat none of it.
Result<Key> read_line(const std::vector<std::string_view>& words) {
  Key key;
  if (const Result<void> name = check_name(words[0]); !name) return name.error();
  key.name = words[0];
  std::optional<std::string> hash;
  if (words.size() > 1) hash = parse_hash(words[1]);
  if (!hash) {
    return fault(
        "behind the name must stand sha256: and 64 hexadecimal digits, the hash of the key; "
        "`windrow keys add` writes such a line");
  }
  key.hash = *std::move(hash);
  if (const Result<void> limits = read_limits(words, 2, key); !limits) return limits.error();
  return key;
}

// base64url (RFC 4648, section 5) without padding.
std::string url_text(std::string_view bytes) {
  std::string text;
  append_base64(bytes, text);
  while (text.ends_with('='))
    text.pop_back();
  std::ranges::replace(text, '+', '-');
  std::ranges::replace(text, '/', '_');
  return text;
}

}  // namespace

Result<KeyRing> KeyRing::parse(std::string_view text, std::string_view file_name) {
  KeyRing ring;
  ring.demands_keys_ = true;
  std::map<std::string, size_t, std::less<>> names;
  std::map<std::string, size_t, std::less<>> hashes;
  size_t number = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::vector<std::string_view> words = words_of(text.substr(at, end - at));
    at = end + 1;
    ++number;
    if (words.empty()) continue;
    const std::string place = fmt::format("{}:{}", file_name, number);
    Result<Key> key = read_line(words);
    if (!key) return key.error().in(place);
    if (const auto [first, is_new] = names.try_emplace(key->name, number); !is_new) {
      return fault(fmt::format("there is a key {} in line {} already; give one another name",
                               key->name, first->second))
          .in(place);
    }
    if (const auto [first, is_new] = hashes.try_emplace(key->hash, number); !is_new) {
      return fault(fmt::format("this is the key of line {} under another name; make one of its own "
                               "with `windrow keys add`",
                               first->second))
          .in(place);
    }
    ring.keys_.push_back(*std::move(key));
  }
  return ring;
}

std::optional<size_t> KeyRing::find(std::string_view key) const {
  const std::string hash = hash_of(key);
  std::optional<size_t> found;
  for (size_t i = 0; i < keys_.size(); ++i) {
    if (same_secret(keys_[i].hash, hash)) found = i;
  }
  return found;
}

KeyRingHolder::KeyRingHolder(KeyRing keys)
    : keys_(std::make_shared<const KeyRing>(std::move(keys))) {}

std::shared_ptr<const KeyRing> KeyRingHolder::now() const {
  const std::scoped_lock lock(mutex_);
  return keys_;
}

void KeyRingHolder::set(KeyRing keys) {
  auto others = std::make_shared<const KeyRing>(std::move(keys));
  const std::scoped_lock lock(mutex_);
  keys_.swap(others);
}

std::string_view presented_key(const http::Headers& headers) {
  constexpr std::string_view kBearer = "Bearer ";
  if (const auto value = headers.get("Authorization");
      value && value->size() > kBearer.size() &&
      http::same_ignoring_case(value->substr(0, kBearer.size()), kBearer)) {
    const size_t begin = value->find_first_not_of(' ', kBearer.size());
    if (begin != std::string_view::npos) return value->substr(begin);
  }
  return headers.get("X-Api-Key").value_or(std::string_view());
}

Result<NewKey> make_key(std::string_view name, std::string_view limits, std::string_view chance32) {
  ENSURE(chance32.size() == kSecretBytes, "a key is made of {} bytes", kSecretBytes);
  if (const Result<void> checked = check_name(name); !checked) return checked.error();
  const std::vector<std::string_view> words = words_of(limits);
  Key key;
  if (const Result<void> read = read_limits(words, 0, key); !read) return read.error();

  NewKey made;
  made.key = "wr-" + url_text(chance32);
  made.line = fmt::format("{} {}", name, kHashMark);
  for (const char byte : hash_of(made.key))
    made.line += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  for (const std::string_view word : words)
    made.line += fmt::format(" {}", word);
  return made;
}

Result<std::string> with_key(std::string_view text, std::string_view file_name, const NewKey& key) {
  std::string all(text);
  if (!all.empty() && all.back() != '\n') all += '\n';
  all += key.line + '\n';
  const std::string_view name = std::string_view(key.line).substr(0, key.line.find(' '));
  const Result<KeyRing> keys = KeyRing::parse(all, file_name);
  if (keys) return all;
  // The new line is valid and its hash unique, so its name exists already, or the file was invalid
  // before.
  if (const Result<KeyRing> before = KeyRing::parse(text, file_name); !before) {
    return before.error();
  }
  return Error{
      ErrorKind::kConflict,
      fmt::format("{} has a key {}; take another name, or delete its line first", file_name, name)};
}

Result<std::unique_ptr<KeyFile>> KeyFile::open(store::Disk& disk, std::string path) {
  Result<std::string> text = disk.read_all(path);
  if (!text) {
    if (text.error().kind != ErrorKind::kNotFound) return text.error();
    return Error{ErrorKind::kNotFound,
                 fmt::format("there is no file of keys {}; `windrow keys add {} NAME` makes one",
                             path, path)};
  }
  Result<KeyRing> keys = KeyRing::parse(*text, path);
  if (!keys) return keys.error();
  return std::unique_ptr<KeyFile>(
      new KeyFile(disk, std::move(path), *std::move(text), *std::move(keys)));
}

KeyFile::KeyFile(store::Disk& disk, std::string path, std::string text, KeyRing keys)
    : disk_(disk),
      path_(std::move(path)),
      text_(std::move(text)),
      keys_(std::make_shared<KeyRingHolder>(std::move(keys))) {}

Result<bool> KeyFile::refresh() {
  const auto tell = [this](const Error& error) -> Result<bool> {
    if (error.message == std::exchange(error_, error.message)) return false;
    return error;
  };
  Result<std::string> text = disk_.read_all(path_);
  if (!text) return tell(text.error());
  if (*text == text_ && error_.empty()) return false;
  Result<KeyRing> keys = KeyRing::parse(*text, path_);
  if (!keys) return tell(keys.error());
  error_.clear();
  if (*text == text_) return false;
  text_ = *std::move(text);
  keys_->set(*std::move(keys));
  return true;
}

std::string KeyFile::warning() const {
  namespace fs = std::filesystem;
  std::error_code failed;
  const fs::perms allowed = fs::status(path_, failed).permissions();
  // The group may read it, as a service reads a file of root.
  constexpr fs::perms kPermissionsOfOthers = fs::perms::group_write | fs::perms::others_all;
  if (failed || (allowed & kPermissionsOfOthers) == fs::perms::none) return {};
  // Writing to the file makes keys; reading it shows names and limits.
  const bool write =
      (allowed & (fs::perms::group_write | fs::perms::others_write)) != fs::perms::none;
  return fmt::format("{} may be {} by other users of this machine; chmod 600 {} ends that", path_,
                     write ? "written" : "read", path_);
}

}  // namespace windrow::api
