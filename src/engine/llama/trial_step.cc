#include "engine/llama/trial_step.h"

#include <fmt/format.h>
#include <llama.h>

#include <optional>

#include "engine/llama/abort_guard.h"
#include "engine/llama/gguf_header.h"

namespace windrow::engine {

Result<void> trial_step(llama_context& context, int32_t threads, const std::string& path) {
  const llama_memory_t memory = llama_get_memory(&context);
  llama_batch batch = llama_batch_init(1, 0, 1);
  batch.n_tokens = 1;
  batch.token[0] = 0;
  batch.pos[0] = 0;
  batch.n_seq_id[0] = 1;
  batch.seq_id[0][0] = 0;
  batch.logits[0] = 1;
  int32_t code = 0;
  // Through several threads an exception does not pass.
  llama_set_n_threads(&context, 1, 1);
  const std::optional<std::string> aborted = guard_against_abort(path, [&] {
    code = memory == nullptr ? llama_encode(&context, batch) : llama_decode(&context, batch);
    llama_synchronize(&context);
  });
  llama_batch_free(batch);
  if (aborted) return abort_error("compute with this model", *aborted);
  if (code != 0) {
    return Error{ErrorKind::kInvalid,
                 fmt::format("libllama cannot compute with this model (code {} for a first token); "
                             "{}",
                             code, kNewFileAdvice)};
  }
  llama_set_n_threads(&context, threads, threads);
  if (memory != nullptr) llama_memory_clear(memory, /*data=*/false);
  return {};
}

}  // namespace windrow::engine
