// LlamaRunner: a ModelRunner with a libllama context. Before each call it checks everything over
// which libllama would end the process (tests/facts has the list). Threads as ModelRunner.
#pragma once

#include <memory>
#include <vector>

#include "base/result.h"
#include "engine/host/model_runner.h"
#include "engine/llama/hosting_devices.h"
#include "engine/llama/llama_model.h"

struct llama_context;

namespace windrow::engine {

class LlamaRunner final : public ModelRunner {
 public:
  // `library`, `model` and `devices`, which hold the model and the cells, outlive it. `path`: the
  // model's file, which messages name. Errors as LlamaModel::make_runner.
  static Result<std::unique_ptr<ModelRunner>> make(LlamaLibrary& library, llama_model& model,
                                                   const HostingDevices& devices,
                                                   const LlamaAdapters& adapters,
                                                   const std::string& path, const ModelFacts& facts,
                                                   const LlamaRunnerOptions& options);
  ~LlamaRunner() override;
  LlamaRunner(const LlamaRunner&) = delete;
  LlamaRunner& operator=(const LlamaRunner&) = delete;

  const RunnerLimits& limits() const override { return limits_; }
  void change(const MemoryChange& change) override;
  Result<void> run(std::span<const StepRow> step) override;
  std::span<const float> logits(size_t index) const override;
  DeviceMemory device_memory() const override;

 private:
  struct Batch;  // llama_batch with its memory

  LlamaRunner(LlamaLibrary& library, llama_context* context, const HostingDevices& devices,
              const std::string& path, const RunnerLimits& limits);

  void check(std::span<const StepRow> step) const;
  Position& end_of(SequenceId sequence);
  void share(const MemoryChange& change);
  void cut(const MemoryChange& change);
  void compact();

  LlamaLibrary& library_;
  llama_context* context_;
  const HostingDevices& devices_;
  const std::string path_;
  RunnerLimits limits_;
  std::unique_ptr<Batch> batch_;
  std::vector<int32_t> output_indices_;  // of the last step: indices in the batch that have logits
  std::vector<Position> ends_;           // the length of each sequence
  bool lost_ = false;                    // the memory of all sequences is lost
};

}  // namespace windrow::engine
