// The one row of table bank: the settings of a bank.
#pragma once

#include <functional>

#include "base/result.h"
#include "memory/bank/bank.h"
#include "memory/bank/sqlite/queries.h"

namespace windrow::memory {

// kNotFound: the file has no bank. kInvalid: the row is damaged.
Result<Bank> read_bank(const Queries& queries);

// The first thing that is written into a bank file.
Result<void> add_bank(BankChange& change, const Bank& bank);

// kInvalid: `edit` changed the id, or the length or the model of vectors that are there.
Result<Bank> edit_bank_row(BankChange& change, const std::function<Result<void>(Bank&)>& edit);

}  // namespace windrow::memory
