// The settings of `windrow serve`, checked: whatever can be known to be wrong before a port is
// opened or a model loaded.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/cors.h"
#include "app/settings/settings.h"
#include "base/result.h"
#include "fleet/model_choice.h"
#include "store/disk.h"

namespace windrow::app {

struct ListenAddress {
  std::string host;  // without brackets
  uint16_t port = 0;

  friend bool operator==(const ListenAddress&, const ListenAddress&) = default;
};

// "127.0.0.1:8080", "[::1]:8080", "localhost:0", or a port alone ("8080", ":8080"), which other
// machines cannot reach. Errors: kInvalid for anything else, and for a host that looks like an IP
// address and is none. Whether the host is an address of this machine shows when it is used.
Result<ListenAddress> parse_listen(std::string_view text);

// Only programs on this machine can reach this address.
bool is_loopback(std::string_view host);

// The URL for clients on this machine, without a path: "http://127.0.0.1:8080", also for a server
// that listens on all addresses.
std::string local_url(const ListenAddress& address, bool tls);

struct ServeOptions {
  ListenAddress listen;
  api::CorsPolicy cors;
};

// Errors: kInvalid for settings that contradict each other, above all for a server that other
// machines can reach without a key.
Result<ServeOptions> serve_options(const Settings& settings);

// --model-alias for local models: further names, and which of `names` each stands for. Errors:
// kInvalid for a model that does not exist, and a name that a model has already.
Result<std::map<std::string, std::string>> local_aliases(const Settings& settings,
                                                         const std::vector<std::string>& names);

// Checks all settings that name local models (local_aliases, pool_options) before anything is
// opened. Errors as theirs.
Result<void> check_names(const Settings& settings, const std::vector<fleet::ModelChoice>& models);

// Creates --data-dir and locks it for this server while the result lives; null without the setting.
// Errors: kIo; kConflict when another server has it.
Result<std::unique_ptr<store::FileLock>> hold_data_dir(const Settings& settings, store::Disk& disk);

}  // namespace windrow::app
