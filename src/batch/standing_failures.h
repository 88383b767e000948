// StandingFailures: which lines of an errors log still count. While failed rows are tried again,
// the line of the failure stays where it is, so that nothing is lost when the process is killed;
// what comes of the row is appended. So a row that has a result has not failed, and of two failures
// of one row the later one counts. Pure, about 50 bytes a failure.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <cstdint>

#include "base/hash.h"

namespace windrow::batch {

class StandingFailures {
 public:
  // Every line of the errors log, in its order, and then every line of the results.
  void add_failure(const Hash128& identity, uint64_t line_number) {
    lines_[identity] = line_number;
  }
  void add_result(const Hash128& identity) { lines_.erase(identity); }

  bool stands(const Hash128& identity, uint64_t line_number) const {
    const auto found = lines_.find(identity);
    return found != lines_.end() && found->second == line_number;
  }

  size_t size() const { return lines_.size(); }

 private:
  struct Hasher {
    using is_avalanching = void;  // identities are hashes already
    size_t operator()(const Hash128& identity) const { return identity.low; }
  };

  boost::unordered_flat_map<Hash128, uint64_t, Hasher> lines_;
};

}  // namespace windrow::batch
