// ModelChoice: one model that is to run in this process, as it was chosen: its file, its name and
// what replaces parts of the file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/host/embedding_runner.h"
#include "engine/llama/llama_adapters.h"

namespace windrow::fleet {

struct ModelChoice {
  std::string name;  // empty: the model answers whatever model a request names
  std::string path;  // of a GGUF file; or "sim:..." (engine/sim/sim_options.h)

  std::string chat_template;                      // chat_template_choice.h; empty: its own
  std::optional<std::string> chat_template_text;  // read already, as it came from a pipe
  std::optional<engine::Pooling> pooling;         // absent: its own
  std::vector<engine::AdapterChoice> adapters;

  friend bool operator==(const ModelChoice&, const ModelChoice&) = default;
};

// It has no file: a simulated model answers.
bool is_simulated(const ModelChoice& choice);

// The name that requests use; that of the file where the choice has none.
std::string served_name(const ModelChoice& choice);

// "FILE, BYTES bytes, HASH": what a resumed job compares, so that another file under the same name
// is noticed. The hash covers the first and last MiB and the size: weights of gigabytes are not
// read. Of a simulated model: what decides its answers. Errors: kNotFound for a file that cannot be
// read, kInvalid for a simulated model that is none.
Result<std::string> model_identity(const std::string& path);

// Bytes of the files of all adapters; missing ones count 0.
uint64_t adapter_bytes(const ModelChoice& choice);

}  // namespace windrow::fleet
