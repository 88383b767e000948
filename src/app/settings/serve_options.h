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

// kInvalid for what is neither HOST:PORT nor a port, and for a host that looks like an IP address
// and is none. Whether the host is an address of this machine shows when it is used.
Result<ListenAddress> parse_listen(std::string_view text);

// Only programs of this machine reach it.
bool is_loopback(std::string_view host);

// Where a client on this machine finds it, without a path: "http://127.0.0.1:8080" also for one
// that listens on all addresses.
std::string local_url(const ListenAddress& address, bool tls);

struct ServeOptions {
  ListenAddress listen;
  api::CorsPolicy cors;
};

// kInvalid for settings that cannot stand together, above all a server that other machines reach
// and nobody needs a key for.
Result<ServeOptions> serve_options(const Settings& settings);

// --model-alias of models here: further names, and which of `names` each stands for. kInvalid for a
// name that is no model's, or that a model has already.
Result<std::map<std::string, std::string>> local_aliases(const Settings& settings,
                                                         const std::vector<std::string>& names);

// That and what else names models here (pool_settings.h), as far as it can be known before anything
// is opened.
Result<void> check_names(const Settings& settings, const std::vector<fleet::ModelChoice>& models);

// Makes --data-dir, and holds it for this server alone as long as the lock lives; nullptr without
// the setting. kConflict when another server has it.
Result<std::unique_ptr<store::FileLock>> hold_data_dir(const Settings& settings, store::Disk& disk);

}  // namespace windrow::app
