// The effects of one batch of consolidation, applied to a bank file: BankStore::apply.
#pragma once

#include "base/result.h"
#include "memory/bank/bank_store.h"
#include "memory/bank/sqlite/queries.h"

namespace windrow::memory {

// kConflict: what the effects were decided on has changed: a witness, a fact of the batch, or an
// observation that is not of this scope any more. kUnavailable: the scope would have too many
// observations. kInvalid: a source that is neither a fact of the batch nor of an observation that
// the effects delete. The transaction is to be undone then.
Result<void> apply_effects(BankChange& change, const BatchEffects& effects);

}  // namespace windrow::memory
