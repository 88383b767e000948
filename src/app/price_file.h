// The price table that somebody wrote: TOML, or JSON where the name ends in .json.
#pragma once

#include <string>

#include "base/result.h"
#include "llm/prices.h"
#include "store/disk.h"

namespace windrow::app {

// kNotFound, kIo; kInvalid with the place in the file.
Result<llm::PriceTable> read_price_file(store::Disk& disk, const std::string& path);

}  // namespace windrow::app
