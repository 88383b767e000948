// Which paths can be written to as files that stay.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace windrow::batch {

// kInvalid for a folder, a device, a pipe or a socket: a log cannot be continued there, and a file
// that is put in their place would replace them. `what` is how the text calls it: "the output".
Result<void> check_output_file(std::string_view what, const std::string& path);

}  // namespace windrow::batch
