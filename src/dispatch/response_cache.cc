#include "dispatch/response_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace windrow::dispatch {
namespace {

constexpr std::string_view kBegin = "windrow-cache-1\n";
constexpr size_t kHeadBytes = 48;
constexpr size_t kLengthAt = 32;  // of the body's length in the head
constexpr uint64_t kBodyBytesMax = uint64_t{1} << 30;

// How much is read at a time to find the records.
constexpr size_t kChunkBytes = size_t{256} << 10;

// What stands before the body of a record.
struct Head {
  Hash128 question;
  uint64_t body_sum = 0;
  uint32_t body_bytes = 0;
  llm::Usage usage;
};

void put_number(uint64_t number, size_t bytes, std::string& text) {
  for (size_t i = 0; i < bytes; ++i)
    text += static_cast<char>(number >> (8 * i));
}

uint64_t take_number(std::string_view& text, size_t bytes) {
  uint64_t number = 0;
  for (size_t i = 0; i < bytes; ++i)
    number |= uint64_t{static_cast<unsigned char>(text[i])} << (8 * i);
  text.remove_prefix(bytes);
  return number;
}

std::string written(const Head& head) {
  std::string text;
  put_number(head.question.low, 8, text);
  put_number(head.question.high, 8, text);
  put_number(head.body_sum, 8, text);
  put_number(head.body_bytes, 4, text);
  for (const int32_t tokens :
       {head.usage.prompt_tokens, head.usage.completion_tokens, head.usage.cached_tokens})
    put_number(static_cast<uint32_t>(tokens), 4, text);
  std::string whole;
  put_number(hash64(text), 8, whole);
  return whole + text;
}

// The head at the front of `text`; nullopt where it is damaged or its record is longer than the
// `room` that is left in the file.
std::optional<Head> read_head(std::string_view text, uint64_t room) {
  if (text.size() < kHeadBytes) return std::nullopt;
  text = text.substr(0, kHeadBytes);
  // The length first: it rules out nearly all bytes of a text, and the hash costs more.
  std::string_view length = text.substr(kLengthAt, 4);
  if (take_number(length, 4) > room - kHeadBytes) return std::nullopt;
  if (take_number(text, 8) != hash64(text)) return std::nullopt;
  Head head;
  head.question.low = take_number(text, 8);
  head.question.high = take_number(text, 8);
  head.body_sum = take_number(text, 8);
  head.body_bytes = static_cast<uint32_t>(take_number(text, 4));
  for (int32_t* tokens :
       {&head.usage.prompt_tokens, &head.usage.completion_tokens, &head.usage.cached_tokens})
    *tokens = static_cast<int32_t>(take_number(text, 4));
  return head;
}

// Of a file that was begun and never synced a part remains, or zeros instead of it.
bool is_torn_begin(std::string_view begin, uint64_t size) {
  if (size > kBegin.size()) return false;
  for (size_t i = 0; i < begin.size(); ++i) {
    if (begin[i] != kBegin[i] && begin[i] != '\0') return false;
  }
  return true;
}

// A file from its front, where most of it is passed over.
class Chunks {
 public:
  explicit Chunks(store::ReadFile& file) : file_(file) {}

  // Up to `size` bytes at `offset`; fewer only at the end of the file.
  Result<std::string_view> at(uint64_t offset, size_t size) {
    if (offset < begin_ || offset + size > begin_ + chunk_.size()) {
      chunk_.resize(std::max(size, kChunkBytes));
      const auto count = file_.read_at(offset, chunk_.data(), chunk_.size());
      if (!count) return count.error();
      chunk_.resize(*count);
      begin_ = offset;
    }
    return std::string_view(chunk_).substr(static_cast<size_t>(offset - begin_)).substr(0, size);
  }

 private:
  store::ReadFile& file_;
  std::string chunk_;
  uint64_t begin_ = 0;
};

}  // namespace

Result<std::unique_ptr<ResponseCache>> ResponseCache::open(store::Disk& disk,
                                                           const std::string& path) {
  auto lock = disk.lock(path + ".lock");
  if (!lock) return lock.error();
  auto out = disk.open_append(path);
  if (!out) return out.error();
  auto in = disk.open_read(path);
  if (!in) return in.error();
  std::unique_ptr<ResponseCache> cache(
      new ResponseCache(*std::move(lock), *std::move(out), *std::move(in)));
  if (auto loaded = cache->load(path); !loaded) return loaded.error();
  (void)disk.sync_folder_of(path);
  return cache;
}

ResponseCache::ResponseCache(std::unique_ptr<store::FileLock> lock,
                             std::unique_ptr<store::AppendFile> out,
                             std::unique_ptr<store::ReadFile> in)
    : lock_(std::move(lock)), out_(std::move(out)), in_(std::move(in)) {}

ResponseCache::~ResponseCache() {
  if (reading_.stored > 0) (void)out_->sync();
}

Result<void> ResponseCache::load(const std::string& path) {
  const auto size = in_->size();
  if (!size) return size.error();
  Chunks chunks(*in_);
  const auto begin = chunks.at(0, kBegin.size());
  if (!begin) return begin.error();
  if (*begin != kBegin && !is_torn_begin(*begin, *size)) {
    return Error{ErrorKind::kInvalid,
                 fmt::format("{} is not a cache of Windrow's, so nothing was changed in it; give "
                             "--cache the name of one, or of a file that is not there yet",
                             path)};
  }
  uint64_t at = *begin == kBegin ? kBegin.size() : 0;
  // `at` is where the whole records end, `next` where a head is looked for: further on than `at`
  // while the bytes between them are of a record whose head is damaged.
  for (uint64_t next = at; at > 0 && next + kHeadBytes <= *size;) {
    const auto text = chunks.at(next, kHeadBytes);
    if (!text) return text.error();
    const std::optional<Head> head = read_head(*text, *size - next);
    if (!head) {
      ++next;
      continue;
    }
    offsets_[head->question.low] = next;
    next += kHeadBytes + head->body_bytes;
    at = next;
  }
  if (at < *size) {
    if (auto cut = out_->truncate(at); !cut) return cut.error();
    reading_.torn_bytes = *size - at;
  }
  if (at == 0) {
    // Synced, so that what a loss of power leaves of the file can be told from another file.
    if (auto done = out_->append(kBegin); !done) return done.error();
    if (auto done = out_->sync(); !done) return done.error();
    at = kBegin.size();
  }
  reading_.bytes = at;
  return {};
}

std::optional<llm::Answer> ResponseCache::find(const Hash128& question) {
  const std::scoped_lock lock(mutex_);
  const auto found = offsets_.find(question.low);
  if (found == offsets_.end()) return std::nullopt;
  std::array<char, kHeadBytes> bytes{};
  const auto head_read = in_->read_at(found->second, bytes.data(), bytes.size());
  const auto head = head_read ? read_head(std::string_view(bytes.data(), *head_read),
                                          reading_.bytes - found->second)
                              : std::nullopt;
  if (head && head->question != question) return std::nullopt;
  llm::Answer answer;
  if (head) {
    answer.raw.resize(head->body_bytes);
    const auto read =
        in_->read_at(found->second + kHeadBytes, answer.raw.data(), answer.raw.size());
    if (read && *read == answer.raw.size() && hash64(answer.raw) == head->body_sum) {
      answer.usage = head->usage;
      ++reading_.hits;
      return answer;
    }
  }
  // It is asked again, and may be stored anew.
  offsets_.erase(found);
  return std::nullopt;
}

void ResponseCache::put(const Hash128& question, const llm::Answer& answer) {
  if (answer.raw.empty() || answer.raw.size() > kBodyBytesMax) return;
  // A record does not tell that it was cut, and so would make a whole answer of it.
  if (answer.truncated) return;
  std::string record = written({.question = question,
                                .body_sum = hash64(answer.raw),
                                .body_bytes = static_cast<uint32_t>(answer.raw.size()),
                                .usage = answer.usage});
  record += answer.raw;
  const std::scoped_lock lock(mutex_);
  if (reading_.error || offsets_.contains(question.low)) return;
  if (auto done = out_->append(record); !done) {
    // What stays behind is cut off when it is opened next.
    reading_.error = done.error();
    (void)out_->truncate(reading_.bytes);
    return;
  }
  offsets_.emplace(question.low, reading_.bytes);
  reading_.bytes += record.size();
  ++reading_.stored;
}

CacheReading ResponseCache::reading() const {
  const std::scoped_lock lock(mutex_);
  CacheReading reading = reading_;
  reading.entries = static_cast<int64_t>(offsets_.size());
  return reading;
}

}  // namespace windrow::dispatch
