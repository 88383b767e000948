// What `windrow serve` was told, checked: whatever can be known to be wrong before a port is opened
// or a model loaded.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/cors.h"
#include "app/listen_address.h"
#include "app/settings.h"
#include "base/result.h"
#include "fleet/model_choice.h"
#include "store/disk.h"

namespace windrow::app {

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
