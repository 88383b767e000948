// BodySource: a long reply that is made while it is sent, so that it is never in memory as a whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace windrow::session {

// Used by one thread at a time.
class BodySource {
 public:
  virtual ~BodySource() = default;

  // The length of the whole; nothing: known only at the end.
  virtual std::optional<uint64_t> size() const = 0;

  // Appends the next bytes: at least one, and about `bytes_wanted`, but for the last. False: there
  // are no more, and none was appended.
  virtual bool next(size_t bytes_wanted, std::string& bytes) = 0;
};

}  // namespace windrow::session
