// ServerRig: a server with routes for tests, and the answers that a test gives when it likes. Its
// clock stands still until a test moves it.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "base/testing/eventually.h"
#include "base/testing/manual_clock.h"
#include "http/server.h"
#include "http/testing/raw_client.h"

namespace windrow::http::testing {

inline std::string get(std::string_view path, std::string_view headers = "") {
  return fmt::format("GET {} HTTP/1.1\r\nHost: x\r\n{}\r\n", path, headers);
}

inline std::string post(std::string_view path, std::string_view body,
                        std::string_view headers = "") {
  return fmt::format("POST {} HTTP/1.1\r\nHost: x\r\n{}Content-Length: {}\r\n\r\n{}", path, headers,
                     body.size(), body);
}

inline std::string body_of(std::string_view reply) {
  return std::string(reply.substr(std::min(reply.find("\r\n\r\n") + 4, reply.size())));
}

inline int status_of(std::string_view reply) {
  return reply.size() < 12 ? 0 : std::stoi(std::string(reply.substr(9, 3)));
}

// A request whose body comes in pieces, for a test to take them.
struct KeptBody {
  Exchange exchange;
  RequestBody body;

  BodyPiece next() {
    const auto said = std::make_shared<std::promise<BodyPiece>>();
    std::future<BodyPiece> piece = said->get_future();
    body.next([said](BodyPiece of_it) { said->set_value(std::move(of_it)); });
    if (piece.wait_for(std::chrono::seconds(20)) == std::future_status::ready) return piece.get();
    ADD_FAILURE() << "no piece came in 20 seconds";
    return {.state = BodyPiece::State::kBroken};
  }
};

// Answers with the body, read in pieces.
class PiecewiseEcho : public std::enable_shared_from_this<PiecewiseEcho> {
 public:
  PiecewiseEcho(Exchange exchange, RequestBody body)
      : exchange_(std::move(exchange)), body_(std::move(body)) {}

  void go_on() {
    body_.next([self = shared_from_this()](const BodyPiece& piece) {
      self->whole_ += piece.bytes;
      if (piece.state == BodyPiece::State::kMore) self->go_on();
      if (piece.state == BodyPiece::State::kEnd)
        self->exchange_.send({.content_type = "text/plain", .body = std::move(self->whole_)});
    });
  }

 private:
  Exchange exchange_;
  RequestBody body_;
  std::string whole_;
};

class ServerRig : public ::testing::Test {
 protected:
  void keep(Exchange exchange) {
    const std::scoped_lock lock(mutex_);
    kept_.push_back(std::move(exchange));
    kept_changed_.notify_all();
  }

  // Waits for a request of /keep.
  Exchange take_kept() {
    std::unique_lock lock(mutex_);
    kept_changed_.wait(lock, [&] { return !kept_.empty(); });
    Exchange exchange = std::move(kept_.front());
    kept_.pop_front();
    return exchange;
  }

  // Waits for a request of /body.
  KeptBody take_body() {
    std::unique_lock lock(mutex_);
    kept_changed_.wait(lock, [&] { return !bodies_.empty(); });
    KeptBody body = std::move(bodies_.front());
    bodies_.pop_front();
    return body;
  }

  void open(ServerOptions options = {}) {
    Routes<Handler> routes;
    add_routes(routes);
    Result<std::unique_ptr<Server>> server =
        Server::open(loop_, std::move(options), std::move(routes));
    ASSERT_TRUE(server.has_value()) << server.error().message;
    server_ = std::move(*server);
  }

  RawClient client() { return RawClient(server_->port()); }

  // Until `condition`, which the server brings about by itself, holds on the loop's thread.
  template <class Condition>
  void wait_until(Condition condition) {
    windrow::testing::eventually([&] {
      bool holds = false;
      loop_.run([&] { holds = condition(); });
      return holds;
    });
  }

  windrow::testing::ManualClock clock_;
  std::mutex mutex_;
  std::condition_variable kept_changed_;
  Loop loop_{clock_};
  std::shared_ptr<const PreparedReply> prepared_ =
      std::make_shared<PreparedReply>(ServerReply{.body = "{}"});
  std::deque<Exchange> kept_;
  std::deque<KeptBody> bodies_;
  std::unique_ptr<Server> server_;

 private:
  void add_routes(Routes<Handler>& routes) {
    routes.add("POST", "/echo", [](const ServerRequest& request, Exchange exchange) {
      exchange.send({.content_type = "text/plain", .body = std::move(request.body)});
    });
    routes.add("GET", "/query", [](const ServerRequest& request, Exchange exchange) {
      exchange.send({.content_type = "", .body = std::string(request.query)});
    });
    routes.add("GET", "/peer", [](const ServerRequest& request, Exchange exchange) {
      exchange.send({.content_type = "", .body = std::string(request.peer)});
    });
    routes.add("GET", "/jobs/{id}", [](const ServerRequest& request, Exchange exchange) {
      exchange.send({.body = std::string(request.parts[0])});
    });
    routes.add("PATCH", "/jobs/{id}", [](const ServerRequest& request, Exchange exchange) {
      exchange.send({.body = std::string(request.parts[0]) + ": " + std::string(request.body)});
    });
    routes.add("GET", "/prepared",
               [this](const ServerRequest&, Exchange exchange) { exchange.send(prepared_); });
    routes.add("GET", "/pieces", [](const ServerRequest&, Exchange exchange) {
      exchange.start(200, {{"Content-Type", "text/event-stream"}});
      exchange.write("data: 1\n\n");
      exchange.write("data: 2\n\n");
      exchange.finish();
    });
    routes.add("GET", "/half", [](const ServerRequest&, Exchange exchange) {
      exchange.start(200, {}, 10);
      exchange.write("12345");
      exchange.reset();
    });
    routes.add("GET", "/short", [](const ServerRequest&, Exchange exchange) {
      exchange.start(200, {}, 10);
      exchange.write("12345");
      exchange.finish();
    });
    routes.add("GET", "/forget", [](const ServerRequest&, const Exchange&) {});
    routes.add("GET", "/throw",
               [](const ServerRequest&, const Exchange&) { throw std::runtime_error("a defect"); });
    routes.add("GET", "/inject", [](const ServerRequest&, Exchange exchange) {
      exchange.send({.headers = {{"X", "a\r\nY: b"}}});
    });
    routes.add(
        "POST", "/body",
        Handler::in_pieces([this](const ServerRequest&, Exchange exchange, RequestBody body) {
          const std::scoped_lock lock(mutex_);
          bodies_.push_back({std::move(exchange), std::move(body)});
          kept_changed_.notify_all();
        }));
    routes.add("POST", "/piecewise",
               Handler::in_pieces([](const ServerRequest&, Exchange exchange, RequestBody body) {
                 std::make_shared<PiecewiseEcho>(std::move(exchange), std::move(body))->go_on();
               }));
    routes.add("POST", "/no-body",
               Handler::in_pieces([](const ServerRequest&, Exchange exchange, const RequestBody&) {
                 exchange.send({.status = 403, .body = "not you"});
               }));
    routes.add("GET", "/keep",
               [this](const ServerRequest&, Exchange exchange) { keep(std::move(exchange)); });
  }
};

}  // namespace windrow::http::testing
