// Trial: what has to hold of one schema: walks through its grammar end in valid texts; valid values
// in definition order are accepted; values that are not valid are not. The validator judges, which
// shares no code with the grammar. Used by one thread.
#pragma once

#include <boost/json/value.hpp>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/random.h"

namespace windrow::keywords {

struct TrialOptions {
  bool open = true;  // the standard's meaning; else objects are closed by default
  int walks = 6;
  int values = 24;
  int questions_max = 20'000;  // of the compiler, whether to give up
};

struct TrialCounts {
  size_t schemas = 0;
  size_t refused = 0;
  size_t empty = 0;  // no value is valid
  size_t walks = 0;
  size_t long_walks = 0;                  // without an end by luck
  size_t valid = 0;                       // values that had to be accepted
  size_t other_order = 0;                 // of them, accepted in another order than was expected
  size_t invalid = 0;                     // values that were not to be accepted
  std::map<std::string, size_t> reasons;  // of refusals, without their places

  void add(const TrialCounts& other);
  std::string text() const;
};

struct Finding {
  enum class Kind : uint8_t {
    kInvalidAccepted,
    kValidRejected,
    kStuck,         // the grammar leads nowhere behind the text
    kCalledEmpty,   // "no value is valid", and the text is one
    kNotJudged,     // the validator takes no such schema: a mistake of the schema's maker
    kErrorNoPlace,  // a refusal without a place
  };

  Kind kind = Kind::kInvalidAccepted;
  boost::json::value schema;
  std::string text;
  std::string detail;

  std::string message() const;
};

// Nothing if all holds.
std::optional<Finding> run_trial(const boost::json::value& schema, uint64_t seed,
                                 const TrialOptions& options, TrialCounts& counts);

// The same finding with as little schema and text as steps of leaving something out lead to.
Finding shrunk(const Finding& finding, const TrialOptions& options);

}  // namespace windrow::keywords
