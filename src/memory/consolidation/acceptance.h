// Acceptance: which actions of a model are done. It is the boundary that keeps scopes apart: a
// model, or a fact that speaks to it, may ask for anything, and only what concerns the facts of the
// batch and observations that were shown for them is done. Pure; any thread.
//
//   - A create without a source in the batch is rejected.
//   - An update needs a source in the batch for which its target was recalled.
//   - A delete needs a target that was shown. Several of one observation are one.
//   - Updates of one observation are one: the last text, all sources. An observation that is also
//     deleted is deleted only.
//   - A create whose text (white space apart) is that of an observation shown, of an update or of
//     another create becomes a further source there: evidence is kept. If that observation is also
//     deleted, it is not: it was to come back as it is.
//   - Creates beyond creates_max are rejected, the later ones first; deletes make room.
// Tags are never the model's: an observation has those of the scope.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "memory/bank/bank_store.h"
#include "memory/consolidation/actions.h"
#include "memory/consolidation/prompts.h"
#include "memory/consolidation/scope_recall.h"

namespace windrow::memory {

enum class RejectedKind : uint8_t {
  kMalformed,
  kNoSource,       // no source in the batch
  kUnknownTarget,  // it was not shown
  kNotRecalled,    // it was shown for other facts only
  kEmptyText,
  kTargetDeleted,  // of an update: the same response deletes the observation
  kScopeFull,
};
std::string_view to_string(RejectedKind kind);

struct Rejected {
  RejectedKind kind = RejectedKind::kMalformed;
  std::string what;  // "updates[1]: observation O3 was not shown for facts F2"
};

struct AcceptedCreate {
  std::string text;
  std::vector<MemoryId> sources;
};

// The actions as they are done: deletes, then updates, then creates.
struct Accepted {
  std::vector<MemoryId> deletes;
  std::vector<UpdateObservation> updates;
  std::vector<AcceptedCreate> creates;
  std::vector<Rejected> rejected;

  // Of the updates' sources: facts that only say what the observation says.
  struct Joined {
    MemoryId observation;
    MemoryId fact;
    friend auto operator<=>(const Joined&, const Joined&) = default;
  };
  std::set<Joined> joined;

  // Facts for which an observation was shown that is deleted.
  std::set<MemoryId> deleted_for;
};

struct AcceptanceView {
  const BatchPrompt& prompt;  // what names mean
  std::span<const ShownObservation> shown;
  // Facts folded into one of the batch before the model saw them: they are sources wherever it is.
  const std::map<MemoryId, std::vector<MemoryId>>& folded;
  int64_t creates_max = -1;  // -1: no limit
};

Accepted accept(const ModelActions& actions, const AcceptanceView& view);

// Without white space at the ends, and one blank for each further run of it: texts that differ only
// in white space are the same.
std::string normalised(std::string_view text);

}  // namespace windrow::memory
