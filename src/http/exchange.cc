#include "http/exchange.h"

#include <memory>
#include <utility>

#include "base/ensure.h"
#include "http/server_connection.h"
#include "http/server_replies.h"

namespace windrow::http {

PreparedReply::PreparedReply(const ServerReply& reply)
    : head_(reply_head(reply.status, reply.content_type, reply.headers, reply.body.size())),
      body_(has_body(reply.status) ? reply.body : "") {}

Exchange::Exchange(std::shared_ptr<Connection> connection, uint64_t serial)
    : connection_(std::move(connection)), serial_(serial) {}

// Posted even from the loop's own thread: calls that another thread made before, such as the end of
// the answer, take effect first.
Exchange::~Exchange() {
  if (!connection_) return;
  Loop& loop = connection_->loop();
  loop.post(
      [connection = std::move(connection_), serial = serial_] { connection->abandon(serial); });
}

template <class Task>
void Exchange::on_loop(Task task) {
  ENSURE(connection_ != nullptr, "an exchange that was moved from");
  Loop& loop = connection_->loop();
  if (loop.is_this_thread()) {
    task(*connection_, serial_);
  } else {
    loop.post([connection = connection_, serial = serial_, task = std::move(task)]() mutable {
      task(*connection, serial);
    });
  }
}

void Exchange::send(ServerReply reply) {
  on_loop([reply = std::move(reply)](Connection& connection, uint64_t serial) mutable {
    connection.send(serial, std::move(reply));
  });
}

void Exchange::send(std::shared_ptr<const PreparedReply> reply) {
  on_loop([reply = std::move(reply)](Connection& connection, uint64_t serial) {
    connection.send(serial, *reply);
  });
}

void Exchange::start(int status, Headers headers, std::optional<uint64_t> body_bytes) {
  on_loop([=, headers = std::move(headers)](Connection& connection, uint64_t serial) {
    connection.start(serial, status, headers, body_bytes);
  });
}

void Exchange::write(std::string bytes) {
  on_loop([bytes = std::move(bytes)](Connection& connection, uint64_t serial) mutable {
    connection.write(serial, std::move(bytes));
  });
}

void Exchange::finish() {
  on_loop([](Connection& connection, uint64_t serial) { connection.finish(serial); });
}

void Exchange::reset() {
  on_loop([](Connection& connection, uint64_t serial) { connection.reset(serial); });
}

void Exchange::on_disconnect(std::function<void()> gone) {
  on_loop([gone = std::move(gone)](Connection& connection, uint64_t serial) {
    connection.on_disconnect(serial, gone);
  });
}

bool Exchange::make_room(size_t bytes) const {
  ENSURE(connection_ != nullptr && connection_->loop().is_this_thread(),
         "make_room() is for the loop's thread");
  return connection_->make_room(serial_, bytes);
}

size_t Exchange::unsent_bytes() const {
  ENSURE(connection_ != nullptr && connection_->loop().is_this_thread(),
         "unsent_bytes() is for the loop's thread");
  return connection_->unsent_bytes(serial_);
}

void Exchange::on_drained(size_t threshold, std::function<void()> drained) {
  on_loop([threshold, drained = std::move(drained)](Connection& connection, uint64_t serial) {
    connection.on_drained(serial, threshold, drained);
  });
}

void RequestBody::next(std::function<void(BodyPiece)> on_piece) {
  ENSURE(connection_ != nullptr, "a body that was moved from");
  Loop& loop = connection_->loop();
  if (loop.is_this_thread()) return connection_->next_piece(serial_, std::move(on_piece));
  loop.post([connection = connection_, serial = serial_, on_piece = std::move(on_piece)]() mutable {
    connection->next_piece(serial, std::move(on_piece));
  });
}

}  // namespace windrow::http
