#include "sim_upstream/sim_server.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <list>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "http/server.h"
#include "sim_upstream/large_reply.h"
#include "sim_upstream/pages.h"
#include "sim_upstream/simulated_upstream.h"

namespace windrow::sim_upstream {
namespace {

// The pieces of a slow body.
constexpr size_t kSlowPieces = 20;

http::ServerReply http_error(const http::Refusal& refusal) {
  return {.status = refusal.status,
          .body = error_body(refusal.message, "invalid_request_error", "")};
}

bool is_of_stream(Delivery delivery) {
  return delivery == Delivery::kPart || delivery == Delivery::kLast ||
         delivery == Delivery::kBroken;
}

std::shared_ptr<const http::PreparedReply> prepared(std::string body) {
  return std::make_shared<http::PreparedReply>(http::ServerReply{.body = std::move(body)});
}

}  // namespace

// On the loop's thread, but for server().
class SimServer::Core {
 public:
  Core(http::Loop& loop, SimServerOptions options)
      : loop_(loop),
        options_(std::move(options)),
        upstream_(options_.sim, loop.clock().unix_seconds()),
        started_(loop.clock().now()),
        wake_(loop) {}

  Result<void> open();

  http::Loop& loop() const { return loop_; }
  http::Server* server() const { return server_.get(); }
  std::unique_ptr<http::Server> take_server() { return std::move(server_); }

  SimStats stats() const;

 private:
  // A request that waits for its reply.
  struct Waiting {
    http::Exchange exchange;
    bool head_sent = false;  // of a stream
  };

  // A body that is sent in pieces.
  struct Slow {
    Slow(http::Exchange to, std::string text, http::Loop& loop)
        : exchange(std::move(to)), body(std::move(text)), timer(loop) {}

    http::Exchange exchange;
    std::string body;
    size_t sent = 0;
    http::Timer timer;
  };

  void add_instant_routes(http::Routes<http::Handler>& routes);
  void add_routes(http::Routes<http::Handler>& routes);
  void send_large(std::string_view count, http::Exchange exchange);
  void take(const http::ServerRequest& request, http::Exchange exchange);
  void pump();
  void deliver(SimReply reply);
  void send_more(http::Exchange exchange, SimReply reply);
  void deliver_part(std::map<SimRequestId, Waiting>::iterator waiting, SimReply reply);
  void send_slowly(std::list<Slow>::iterator slow, Duration step);

  // The simulated server's time starts with it.
  TimePoint now() const { return TimePoint(loop_.clock().now() - started_); }

  http::Loop& loop_;
  const SimServerOptions options_;
  SimulatedUpstream upstream_;
  const TimePoint started_;
  http::Timer wake_;
  std::map<SimRequestId, Waiting> exchanges_;
  std::list<Slow> slow_;
  LargeReplies large_;
  bool pumping_ = false;
  int64_t instant_ = 0;  // requests answered from what was prepared
  std::unique_ptr<http::Server> server_;
};

Result<void> SimServer::Core::open() {
  http::Routes<http::Handler> routes;
  if (options_.instant) {
    add_instant_routes(routes);
  } else {
    add_routes(routes);
  }
  routes.add("GET", "/bytes/{count}",
             [this](const http::ServerRequest& request, http::Exchange exchange) {
               send_large(request.parts.front(), std::move(exchange));
             });
  Result<std::unique_ptr<http::Server>> server = http::Server::open(loop_,
                                                                    {.address = options_.address,
                                                                     .port = options_.port,
                                                                     .connections_max = 65536,
                                                                     .make_error = http_error},
                                                                    std::move(routes));
  if (!server) return server.error();
  server_ = *std::move(server);
  return {};
}

void SimServer::Core::add_instant_routes(http::Routes<http::Handler>& routes) {
  const std::string model = options_.sim.models.empty() ? "sim" : options_.sim.models.front();
  const ReplyFacts facts{.number = 1,
                         .created_s = loop_.clock().unix_seconds(),
                         .model = model,
                         .usage = {.prompt_tokens = 16, .answer_tokens = 8}};
  const std::vector<Choice> choices = {{.text = "the river runs past a stone house there"}};
  const std::vector<std::vector<float>> vectors = {{1, 0, 0, 0}};
  const auto add = [&](std::string_view path, std::string body) {
    routes.add("POST", path,
               [this, reply = prepared(std::move(body))](const http::ServerRequest&,
                                                         http::Exchange exchange) {
                 ++instant_;
                 exchange.send(reply);
               });
  };
  add("/v1/chat/completions", chat_body(facts, choices));
  add("/v1/completions", completion_body(facts, choices));
  add("/v1/embeddings", embedding_body(facts, vectors, false));
  const std::vector<std::string> models = {model};
  routes.add("GET", "/v1/models",
             [reply = prepared(models_body(models, facts.created_s, options_.sim.context_tokens))](
                 const http::ServerRequest&, http::Exchange exchange) { exchange.send(reply); });
}

void SimServer::Core::add_routes(http::Routes<http::Handler>& routes) {
  for (const auto& [method, path] : SimulatedUpstream::paths()) {
    routes.add(method, path, [this](const http::ServerRequest& request, http::Exchange exchange) {
      take(request, std::move(exchange));
    });
  }
}

void SimServer::Core::send_large(std::string_view count, http::Exchange exchange) {
  uint64_t bytes = 0;
  const char* const end = count.data() + count.size();
  if (const auto read = std::from_chars(count.data(), end, bytes);
      read.ec == std::errc() && read.ptr == end)
    return large_.send(std::move(exchange), bytes);
  exchange.send({.status = 400,
                 .body = error_body(fmt::format("/bytes/{} is no number of bytes", count),
                                    kInvalidRequest, "")});
}

void SimServer::Core::take(const http::ServerRequest& request, http::Exchange exchange) {
  const SimRequestId id =
      upstream_.arrive({.method = request.method,
                        .path = request.path,
                        .authorization = request.headers.get("Authorization").value_or(""),
                        .body = request.body},
                       now());
  exchange.on_disconnect([this, id] {
    // The answer may have left the upstream and be on its way to the client.
    if (exchanges_.erase(id) == 0) return;
    upstream_.leave(id, now());
    pump();
  });
  exchanges_.emplace(id, Waiting{std::move(exchange)});
  pump();
}

// Delivers the replies that are due. Answering may bring a connection's next request, which calls
// this again: the outer call then handles it too.
void SimServer::Core::pump() {
  if (pumping_) return;
  pumping_ = true;
  for (;;) {
    std::vector<SimReply> replies = upstream_.advance(now());
    if (replies.empty()) break;
    for (SimReply& reply : replies)
      deliver(std::move(reply));
  }
  pumping_ = false;
  if (const std::optional<TimePoint> next = upstream_.next_event()) {
    wake_.wake_at(started_ + next->time_since_epoch(), [this] { pump(); });
  } else {
    wake_.cancel();
  }
}

void SimServer::Core::deliver(SimReply reply) {
  const auto found = exchanges_.find(reply.request);
  if (found == exchanges_.end()) return;  // the client left
  if (is_of_stream(reply.delivery)) return deliver_part(found, std::move(reply));
  http::Exchange exchange = std::move(found->second.exchange);
  exchanges_.erase(found);
  if (reply.more) return send_more(std::move(exchange), std::move(reply));
  if (reply.delivery == Delivery::kWhole) {
    exchange.send({.status = reply.status,
                   .content_type = reply.content_type,
                   .headers = std::move(reply.headers),
                   .body = std::move(reply.body)});
    return;
  }
  reply.headers.add("Content-Type", reply.content_type);
  exchange.start(reply.status, std::move(reply.headers), reply.body.size());
  if (reply.delivery == Delivery::kReset) {
    exchange.write(reply.body.substr(0, reply.body.size() / 2));
    exchange.reset();
    return;
  }
  slow_.emplace_front(std::move(exchange), std::move(reply.body), loop_);
  send_slowly(slow_.begin(), reply.body_time / kSlowPieces);
}

// A whole reply with rows, or one that breaks off in the middle of them.
void SimServer::Core::send_more(http::Exchange exchange, SimReply reply) {
  reply.headers.add("Content-Type", reply.content_type);
  const bool breaks = reply.delivery == Delivery::kReset;
  exchange.start(reply.status, std::move(reply.headers), reply.body.size() + reply.more->bytes());
  if (breaks) reply.more->cut(reply.more->bytes() / 2);
  if (!reply.body.empty()) exchange.write(std::move(reply.body));
  large_.send_rest(
      std::move(exchange), [more = reply.more](size_t bytes) { return more->take(bytes); },
      breaks ? LargeReplies::Then::kReset : LargeReplies::Then::kFinish);
}

void SimServer::Core::deliver_part(std::map<SimRequestId, Waiting>::iterator waiting,
                                   SimReply reply) {
  if (!waiting->second.head_sent) {
    reply.headers.add("Content-Type", reply.content_type);
    waiting->second.exchange.start(reply.status, std::move(reply.headers));
    waiting->second.head_sent = true;
  }
  if (reply.delivery == Delivery::kPart) {
    waiting->second.exchange.write(std::move(reply.body));
    return;
  }
  http::Exchange exchange = std::move(waiting->second.exchange);
  exchanges_.erase(waiting);
  if (!reply.body.empty()) exchange.write(std::move(reply.body));
  if (reply.more) {
    large_.send_rest(
        std::move(exchange), [more = reply.more](size_t bytes) { return more->take(bytes); },
        LargeReplies::Then::kFinish);
  } else if (reply.delivery == Delivery::kBroken) {
    exchange.reset();
  } else {
    exchange.finish();
  }
}

void SimServer::Core::send_slowly(std::list<Slow>::iterator slow, Duration step) {
  const size_t piece = slow->body.size() / kSlowPieces + 1;
  slow->timer.wake_at(loop_.clock().now() + step, [this, slow, step, piece] {
    slow->exchange.write(slow->body.substr(slow->sent, piece));
    slow->sent += piece;
    if (slow->sent < slow->body.size()) {
      send_slowly(slow, step);
    } else {
      slow->exchange.finish();
      slow_.erase(slow);
    }
  });
}

SimStats SimServer::Core::stats() const {
  SimStats stats = upstream_.stats();
  stats.requests += instant_;
  if (instant_ > 0) stats.answered[200] += instant_;
  return stats;
}

Result<std::unique_ptr<SimServer>> SimServer::open(http::Loop& loop, SimServerOptions options) {
  std::unique_ptr<SimServer> server(
      new SimServer(std::make_unique<Core>(loop, std::move(options))));
  if (const Result<void> opened = server->core_->open(); !opened) return opened.error();
  return server;
}

SimServer::SimServer(std::unique_ptr<Core> core) : core_(std::move(core)) {}

SimServer::~SimServer() {
  // The server first: while it lives its loop may call the core.
  core_->take_server().reset();
  core_->loop().run([&] { core_.reset(); });
}

uint16_t SimServer::port() const {
  return core_->server()->port();
}

void SimServer::stop(Duration grace) {
  core_->server()->stop(grace);
}

SimStats SimServer::stats() const {
  SimStats stats;
  core_->loop().run([&] { stats = core_->stats(); });
  return stats;
}

}  // namespace windrow::sim_upstream
