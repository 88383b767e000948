#include "memory/bank/memory.h"

#include <algorithm>

namespace windrow::memory {
namespace {

// The one of two times that `better` prefers; a missing one does not count.
template <class Better>
std::optional<UnixMs> chosen(std::optional<UnixMs> one, std::optional<UnixMs> other,
                             Better better) {
  if (!one) return other;
  if (!other) return one;
  return better(*one, *other);
}

UnixMs earlier(UnixMs one, UnixMs other) {
  return std::min(one, other);
}

UnixMs later(UnixMs one, UnixMs other) {
  return std::max(one, other);
}

}  // namespace

std::string_view to_string(MemoryType type) {
  switch (type) {
    case MemoryType::kWorld:
      return "world";
    case MemoryType::kExperience:
      return "experience";
    case MemoryType::kObservation:
      return "observation";
  }
  return "unknown";
}

std::optional<MemoryType> memory_type_named(std::string_view name) {
  for (const MemoryType type :
       {MemoryType::kWorld, MemoryType::kExperience, MemoryType::kObservation})
    if (to_string(type) == name) return type;
  return std::nullopt;
}

MemoryTimes widened(const MemoryTimes& one, const MemoryTimes& other) {
  return MemoryTimes{.event = chosen(one.event, other.event, earlier),
                     .occurred_start = chosen(one.occurred_start, other.occurred_start, earlier),
                     .occurred_end = chosen(one.occurred_end, other.occurred_end, later),
                     .mentioned = chosen(one.mentioned, other.mentioned, later)};
}

}  // namespace windrow::memory
