#include "engine/structure/structure_cache.h"

#include <fmt/format.h>

#include <utility>

namespace windrow::engine {
namespace {

// All that two specs must have alike. Texts are told apart by their lengths.
std::string key_of(const llm::StructureSpec& spec) {
  std::string key = fmt::format(
      "{}{}{}{}{} {} ", static_cast<int>(spec.kind), spec.flexible_whitespace ? 'f' : 'c',
      spec.open ? 'o' : 'c', spec.any_order ? 'a' : 'd',
      spec.unknown == llm::UnknownWords::kRefuse ? 'r' : 'a', spec.text.size());
  key += spec.text;
  const llm::ToolChoice& calls = spec.tool_choice;
  key += fmt::format(" {}{}{} {} ", static_cast<int>(calls.use), calls.parallel ? 's' : 'o',
                     calls.any_order ? 'a' : 'd', calls.name.size());
  key += calls.name;
  key += fmt::format(" {} {}", spec.tools.size(), spec.tools);
  for (const std::string& choice : spec.choices)
    key += fmt::format(" {} {}", choice.size(), choice);
  return key;
}

size_t spec_bytes(const std::string& key, const StructureCache::Made& made) {
  return 2 * key.size() + (made ? (*made)->grammar->memory_bytes() : 0);
}

}  // namespace

StructureCache::StructureCache(Make make, const Clock& clock, const StructureLimits& limits)
    : make_(std::move(make)),
      clock_(clock),
      limits_(limits),
      threads_(limits.threads, async::Executor::Start::kWithFirstTask) {}

StructureCache::~StructureCache() {
  closing_ = true;
}

void StructureCache::get(const llm::StructureSpec& spec, Then then) {
  std::string key = key_of(spec);
  std::optional<Made> made;
  {
    const std::scoped_lock lock(mutex_);
    const auto found = by_key_.find(key);
    if (found != by_key_.end()) {
      entries_.splice(entries_.begin(), entries_, found->second);
      made = found->second->made;
      if (!made) {
        found->second->waiting.push_back(std::move(then));
        return;
      }
    } else {
      entries_.push_front({.key = key, .made = {}, .waiting = {}, .bytes = 0});
      entries_.front().waiting.push_back(std::move(then));
      by_key_.emplace(std::move(key), entries_.begin());
      threads_.post([this, spec, entry = entries_.begin()] { compile(spec, entry); });
      return;
    }
  }
  then(*made);
}

StructureCache::Made StructureCache::make_in_time(const llm::StructureSpec& spec) {
  const TimePoint begin = clock_.now();
  bool late = false;
  Made made = make_(spec, [&] {
    late = late || clock_.now() - begin > limits_.deadline;
    return late || closing_;
  });
  if (made || !late || closing_) return made;
  return Error{
      ErrorKind::kInvalid,
      fmt::format("compiling it took longer than {} s; make it simpler",
                  std::chrono::duration_cast<std::chrono::seconds>(limits_.deadline).count())};
}

// An entry stays where it is until it is made, so only this task ends it.
void StructureCache::compile(const llm::StructureSpec& spec, Entries::iterator entry) {
  const Made made = closing_ ? Made(Error{ErrorKind::kUnavailable, "nobody wants it any more"})
                             : make_in_time(spec);
  std::vector<Then> waiting;
  {
    const std::scoped_lock lock(mutex_);
    entry->made = made;
    waiting.swap(entry->waiting);
    drop_oldest();
  }
  for (const Then& then : waiting)
    then(made);
}

// Structures grow while they are used, by the masks that they keep.
void StructureCache::drop_oldest() {
  size_t bytes = 0;
  for (Entry& entry : entries_) {
    if (entry.made) bytes += entry.bytes = spec_bytes(entry.key, *entry.made);
  }
  for (auto entry = entries_.end(); entry != entries_.begin();) {
    --entry;
    if (bytes <= limits_.bytes_max && entries_.size() <= limits_.entries_max) return;
    // The last one asked for is in use.
    if (!entry->made || entry == entries_.begin()) continue;
    bytes -= entry->bytes;
    by_key_.erase(entry->key);
    entry = entries_.erase(entry);
  }
}

size_t StructureCache::bytes() const {
  const std::scoped_lock lock(mutex_);
  size_t bytes = 0;
  for (const Entry& entry : entries_) {
    if (entry.made) bytes += spec_bytes(entry.key, *entry.made);
  }
  return bytes;
}

}  // namespace windrow::engine
