#include "app/commands/commands.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <csignal>
#include <cstdio>
#include <utility>

#include "app/commands/fetch_models.h"
#include "app/process/console.h"
#include "app/settings/fleet_settings.h"
#include "base/clock.h"
#include "base/format.h"
#include "batch/job_runner.h"
#include "engine/llama/llama_library.h"
#include "engine/llama/llama_model.h"
#include "engine/sim/sim_options.h"
#include "fleet/chat_template_choice.h"
#include "store/posix_disk.h"

namespace windrow::app {

namespace json = boost::json;

namespace {

std::string_view kind_of(const engine::ModelFacts& facts) {
  if (facts.encoder_only) return "encoder (embeddings)";
  if (facts.hybrid) return "decoder, hybrid (recurrent and attention)";
  if (facts.recurrent) return "decoder, recurrent";
  return "decoder";
}

// Says whether a model can answer chats.
std::string chat_of(const engine::ModelFacts& facts) {
  if (facts.encoder_only) return "no: an encoder generates no text";
  const Result<chat::ChatTemplate> own = fleet::own_chat_template(facts);
  if (!own) return "no: " + own.error().message;
  return own->reasoning().kind == chat::ReasoningFormat::Kind::kNone
             ? "yes"
             : "yes, thinks before it answers";
}

std::string kind_of(const engine::Device& device) {
  switch (device.kind) {
    case engine::DeviceKind::kCpu:
      return "CPU";
    case engine::DeviceKind::kGpu:
      return "GPU";
    case engine::DeviceKind::kIntegratedGpu:
      return "integrated GPU";
    case engine::DeviceKind::kRemote:
      return "RPC worker";
    case engine::DeviceKind::kOther:
      break;
  }
  return "other";
}

using Line = std::pair<std::string, std::string>;

std::vector<Line> inspect_lines(const std::string& path, const engine::ModelFacts& facts) {
  std::vector<Line> lines = {
      {"file", path},
      {"name", facts.name.empty() ? "(none)" : facts.name},
      {"licence", facts.license.empty() ? "(the file does not say)" : facts.license},
      {"model", facts.description},
      {"kind", std::string(kind_of(facts))},
      {"parameters", with_thousands(static_cast<int64_t>(facts.parameters))},
      {"weights", human_bytes(facts.weights_bytes)},
      {"layers", fmt::format("{}, {} wide", facts.layers, facts.embedding_length)},
      {"trained context", with_thousands(facts.context_trained) + " tokens"},
      {"vocabulary", with_thousands(facts.vocabulary_size) + " tokens"},
  };
  if (facts.sliding_window > 0) {
    lines.emplace_back("sliding window", with_thousands(facts.sliding_window) + " tokens");
  }
  lines.emplace_back("pooling",
                     facts.pooling.empty() ? "mean (the file does not say)" : facts.pooling);
  if (!facts.encoder_only) {
    lines.emplace_back("context memory",
                       fmt::format("{} a token in f16", human_bytes(facts.cell_bytes_f16)));
    lines.emplace_back("prefix sharing", std::string(engine::to_string(facts.sharing)));
  }
  lines.emplace_back("/v1/chat/completions", chat_of(facts));
  lines.emplace_back("/v1/completions", facts.encoder_only ? "no" : "yes");
  const bool ranks = facts.pooling == "rank";
  lines.emplace_back("/v1/embeddings", ranks ? "no: it is a reranker" : "yes");
  lines.emplace_back("/v1/rerank", ranks ? "yes" : "no");
  return lines;
}

}  // namespace

json::object inspection_json(const std::string& path, const engine::ModelFacts& facts,
                             const std::vector<engine::Device>& devices) {
  json::array device_list;
  for (const engine::Device& device : devices) {
    device_list.push_back(json::object{{"name", device.name},
                                       {"description", device.description},
                                       {"kind", kind_of(device)},
                                       {"memory_bytes", device.memory_bytes},
                                       {"memory_free_bytes", device.memory_free_bytes}});
  }
  return {{"file", path},
          {"name", facts.name},
          {"license", facts.license},
          {"architecture", facts.architecture},
          {"description", facts.description},
          {"parameters", facts.parameters},
          {"weights_bytes", facts.weights_bytes},
          {"layers", facts.layers},
          {"embedding_length", facts.embedding_length},
          {"context_trained", facts.context_trained},
          {"vocabulary_size", facts.vocabulary_size},
          {"sliding_window", facts.sliding_window},
          {"recurrent", facts.recurrent},
          {"hybrid", facts.hybrid},
          {"encoder_only", facts.encoder_only},
          {"pooling", facts.pooling},
          {"sharing", engine::to_string(facts.sharing)},
          {"cell_bytes_f16", facts.cell_bytes_f16},
          {"chat_supported", !facts.encoder_only && fleet::own_chat_template(facts).has_value()},
          {"chat_template", facts.chat_template},
          {"devices", device_list}};
}

std::string inspection_text(const std::string& path, const engine::ModelFacts& facts,
                            const std::vector<engine::Device>& devices) {
  std::string text;
  for (const auto& [name, value] : inspect_lines(path, facts)) {
    text += fmt::format("{:<22}{}\n", name, value);
  }
  for (const engine::Device& device : devices) {
    text += fmt::format("{:<22}{} ({}, {}, {} free of {})\n", "device", device.name,
                        device.description, kind_of(device), human_bytes(device.memory_free_bytes),
                        human_bytes(device.memory_bytes));
  }
  return text;
}

namespace {

// A simulated model has no file: prints its options.
int inspect_simulated(const std::string& named, bool json) {
  const Result<engine::sim::SimOptions> model = engine::sim::parse_sim(named);
  if (!model) {
    fmt::print(stderr, "windrow: {}\n", model.error().message);
    return batch::exit_code(model.error());
  }
  const std::string answers = engine::sim::describe_answers(*model);
  const std::string times = engine::sim::describe_time(*model);
  if (json) {
    fmt::print(
        "{}\n",
        boost::json::serialize(json::object{
            {"file", named}, {"kind", "simulated"}, {"answers", answers}, {"times", times}}));
  } else {
    fmt::print("{:<22}{}\n{:<22}{}\n{:<22}{}\n", "model", named, "answers", answers, "times",
               times);
  }
  return 0;
}

}  // namespace

int inspect_command(const InspectCommand& command, const Environment& environment) {
  if (engine::sim::is_sim(command.model)) return inspect_simulated(command.model, command.json);
  const Result<std::string> file = [&] {
    const SystemClock clock;
    store::PosixDisk disk;
    Console console({}, environment, clock);
    return fetch_model(command.model, environment, clock, disk, console);
  }();
  if (!file) {
    fmt::print(stderr, "windrow: {}\n", file.error().message);
    return batch::exit_code(file.error());
  }
  const std::string& path = *file;
  // That a worker ended is said by libggml.
  if (!command.rpc_workers.empty()) std::signal(SIGPIPE, SIG_IGN);
  const auto library = engine::LlamaLibrary::start(backends_folder(), command.rpc_workers);
  if (!library) {
    fmt::print(stderr, "windrow: {}\n", library.error().message);
    return library.error().kind == ErrorKind::kUnavailable ? 3 : 2;
  }
  // Whether it could be computed with, too.
  if (const Result<void> usable = engine::LlamaModel::rehearse(**library, path); !usable) {
    fmt::print(stderr, "windrow: {}\n", usable.error().message);
    return usable.error().kind == ErrorKind::kUnavailable ? 3 : 2;
  }
  // Nothing is computed, so nothing need go to a GPU.
  const auto model = engine::LlamaModel::load(**library, path, {.devices = {.gpu_layers = 0}});
  if (!model) {
    fmt::print(stderr, "windrow: {}\n", model.error().message);
    return model.error().kind == ErrorKind::kUnavailable ? 3 : 2;
  }
  const std::vector<engine::Device> devices = (*library)->devices();
  const engine::ModelFacts& facts = (*model)->facts();
  if (command.json) {
    fmt::print("{}\n", boost::json::serialize(inspection_json(path, facts, devices)));
  } else {
    fmt::print("{}", inspection_text(path, facts, devices));
  }
  return 0;
}

}  // namespace windrow::app
