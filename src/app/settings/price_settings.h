// --prices and --max-cost: what tokens cost, and how much a job may spend.
#pragma once

#include <string>
#include <string_view>

#include "app/settings/settings.h"
#include "base/result.h"
#include "dispatch/budget.h"
#include "fleet/spending.h"
#include "llm/prices.h"
#include "store/disk.h"

namespace windrow::app {

// Reads a price table: TOML, or JSON where the name ends in .json. Errors: kNotFound, kIo; kInvalid
// with the place in the file.
Result<llm::PriceTable> read_price_file(store::Disk& disk, const std::string& path);

// The settings as a fleet takes them. Errors: kInvalid for an amount that is none, and for a limit
// without prices; those of read_price_file.
Result<fleet::Spending> read_spending(const Settings& settings, store::Disk& disk);

// "$4.98"; "$0.00031".
std::string dollars(dispatch::Cost cost);

}  // namespace windrow::app
