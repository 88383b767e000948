#include "session/model_server.h"

#include <sys/resource.h>

#include <chrono>
#include <cstring>
#include <string>

#include "base/clock.h"
#include "http/loop.h"
#include "sim_upstream/sim_server.h"

namespace windrow::session_bench {
namespace {

sim_upstream::SimServerOptions options_of(const ModelShape& shape) {
  sim_upstream::SimServerOptions options;
  sim_upstream::SimOptions& sim = options.sim;
  sim.context_tokens = int64_t{1} << 24;
  sim.slots = 1024;
  sim.queue_max = 4096;
  sim.request_time = std::chrono::milliseconds(shape.model_ms);
  sim.prompt_token_time = {};
  sim.token_time = {};
  sim.prefix_blocks = 0;
  sim.answer_tokens = shape.answer_tokens;
  sim.answer_spread = 0;
  sim.tokens.first_id = shape.first_id;
  sim.tokens.last_id = shape.last_id;
  sim.tokens.end_id = shape.end_id;
  sim.tokens.routing_layers = shape.layers();
  sim.tokens.routing_topk = ModelShape::kTopk;
  sim.tokens.routing_experts = shape.experts;
  return options;
}

void serve(Channel& channel) {
  std::string message;
  if (!channel.receive(message)) return;
  ModelShape shape;
  std::memcpy(&shape, message.data(), sizeof(shape));
  const SystemClock clock;
  http::Loop loop(clock);
  const auto server = sim_upstream::SimServer::open(loop, options_of(shape)).value();
  const uint16_t port = server->port();
  channel.send(std::string(reinterpret_cast<const char*>(&port), sizeof(port)));
  while (channel.receive(message)) {
  }
}

}  // namespace

ModelServer::ModelServer(int niceness)
    : process_([niceness](Channel& channel) {
        setpriority(PRIO_PROCESS, 0, niceness);
        serve(channel);
      }) {}

uint16_t ModelServer::start(const ModelShape& shape) {
  process_.send(std::string(reinterpret_cast<const char*>(&shape), sizeof(shape)));
  const std::string answer = process_.receive();
  uint16_t port = 0;
  std::memcpy(&port, answer.data(), sizeof(port));
  return port;
}

}  // namespace windrow::session_bench
