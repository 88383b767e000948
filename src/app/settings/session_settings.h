// The settings of sessions as the values that sessions take (session/service/session_options.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "app/settings/settings.h"
#include "base/result.h"
#include "session/models/session_models.h"
#include "session/service/session_options.h"
#include "upstream/server_kind.h"

namespace windrow::app {

// `machine_bytes`: the memory of this machine, half of which sessions may take unless
// --sessions-mb-max says more. Errors: kInvalid for settings that contradict each other, and for a
// word that is none of the setting's. Pure.
Result<session::SessionOptions> session_options(const Settings& settings, uint64_t machine_bytes);

// How sessions ask a server of this product, by --session-upstream (`setting`, one of its words).
// Absent: "auto", and the product is not known or gives no token ids. Pure.
std::optional<session::ModelKind> session_model_kind(std::string_view setting,
                                                     upstream::ServerKind server);

}  // namespace windrow::app
