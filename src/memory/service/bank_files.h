// Bank files in a folder: their names, and how one comes to be and goes, whole or not at all also
// when the process or the power fails.
//
// Any thread, each file by one at a time. All but the names block on the disk.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "memory/bank/bank.h"
#include "store/disk.h"

namespace windrow::memory {

inline constexpr std::string_view kBankEnding = ".bank";
inline constexpr std::string_view kNewBankEnding = ".bank.new";  // not complete yet

// "team%201.bank" for the bank "team 1". A name that would be too long for a file system is '+' and
// the SHA-256 of the id, from which the id cannot be told.
std::string bank_file_name(const BankId& id);

// The id; nothing if this is no name of a bank file, or has a hash.
std::optional<BankId> bank_of_file_name(std::string_view name);

// Whether it is the name of a bank file that has a hash.
bool is_hashed_bank_name(std::string_view name);

// Makes the file of a bank. kConflict: there is one. kDiskFull, kIo.
Result<void> make_bank_file(store::Disk& disk, const std::string& path, const Bank& bank);

// Removes a bank that no connection has open. kNotFound, kIo.
Result<void> remove_bank_file(store::Disk& disk, const std::string& path);

}  // namespace windrow::memory
