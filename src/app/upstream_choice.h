// The servers a person chose: --upstream, what other flags say of all of them, and what
// windrow.toml says of each.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/environment.h"
#include "app/resolve_settings.h"
#include "app/settings.h"
#include "base/result.h"
#include "http/url.h"
#include "upstream/upstream_backend.h"

namespace windrow::app {

struct UpstreamChoice {
  http::Url base;                      // as upstream::with_version gives it
  std::string api_key;                 // empty: none
  std::optional<int32_t> concurrency;  // absent: found while the job runs
  int64_t requests_per_minute = 0;     // 0: no limit
  int64_t tokens_per_minute = 0;
  std::map<std::string, std::string, std::less<>> aliases;

  friend bool operator==(const UpstreamChoice&, const UpstreamChoice&) = default;
};

// Empty where none is chosen. kInvalid for what is no URL, a server that is named twice, a variable
// that is not set, a number that is none. The key of a message is never shown.
Result<std::vector<UpstreamChoice>> upstream_choices(const ResolvedSettings& settings,
                                                     const Environment& environment);

// As the client to one of them wants it.
upstream::UpstreamOptions upstream_options(const UpstreamChoice& choice, const Settings& settings);

// "auto": nothing; "16": 16.
Result<std::optional<int32_t>> parse_concurrency(std::string_view text, std::string_view place);

}  // namespace windrow::app
