// Downloads remote models (hf:..., https://...) before anything opens them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/process/console.h"
#include "app/settings/environment.h"
#include "base/clock.h"
#include "base/result.h"
#include "fleet/model_choice.h"
#include "model_store/download.h"
#include "store/disk.h"

namespace windrow::app {

// The folder of downloaded models, below $XDG_CACHE_HOME, else ~/.cache. Errors: kInvalid when
// neither XDG_CACHE_HOME nor HOME is set.
Result<std::string> models_folder(const Environment& environment);

// Returns the path of the model's file, after its download where it is remote; any other text as it
// is. Uses HF_TOKEN and HF_ENDPOINT. Blocks; shows the progress on the console. Errors: those of
// models_folder and of ModelStore::fetch.
Result<std::string> fetch_model(const std::string& text, const Environment& environment,
                                const Clock& clock, store::Disk& disk, Console& console);

// The same for the paths of all choices.
Result<void> fetch_models(std::vector<fleet::ModelChoice>& choices, const Environment& environment,
                          const Clock& clock, store::Disk& disk, Console& console);

// "hf:o/r/f.gguf: 1.20 GiB of 4.30 GiB (28 %), 45.2 MiB/s, 1 min 10 s left"; a rate of 0 is
// unknown.
std::string download_text(const model_store::DownloadProgress& progress, double bytes_per_s);

}  // namespace windrow::app
