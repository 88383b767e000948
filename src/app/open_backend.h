// The models a person chose, opened: library, weights, contexts, backends.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "app/model_choice.h"
#include "app/settings.h"
#include "base/clock.h"
#include "base/result.h"
#include "engine/llama/llama_library.h"
#include "engine/llama/llama_model.h"
#include "engine/model_backend.h"

namespace windrow::app {

// One model, ready to answer. Members are destroyed from the last to the first: the backend before
// the weights it runs on.
struct OpenModel {
  std::string name;  // as in NAME=PATH; empty: it answers whatever a row asks for
  std::string path;
  std::unique_ptr<engine::LlamaModel> model;
  std::unique_ptr<engine::ModelBackend> backend;
};

// "FILE, BYTES bytes, HASH": what a resumed job compares, so that another file under the same name
// is noticed. The hash is of the first and last MiB and the size; weights of gigabytes are not
// read.
Result<std::string> model_identity(const std::string& path);

// The folder of the plug-ins for libllama's devices: WINDROW_GGML_BACKENDS, else the one of an
// installed tree beside the executable, else empty (the one of this build).
std::string backends_folder();

// Loads the weights; contexts are opened when rows ask for them. `library` and `clock` must outlive
// the model. `date_unix_s` is what chat templates take for today. Errors as LlamaModel::load and
// open_chat_template.
Result<OpenModel> open_model(engine::LlamaLibrary& library, const ModelChoice& choice,
                             const Settings& settings, int64_t date_unix_s, const Clock& clock);

}  // namespace windrow::app
