#include "api/session/body_delivery.h"

#if defined(__linux__)
#include <sys/resource.h>
#endif

#include <cstddef>
#include <exception>
#include <string>
#include <utility>

namespace windrow::api {
namespace {

constexpr size_t kBodyPieceBytes = size_t{256} << 10;

}  // namespace

void stand_back() {
#if defined(__linux__)
  // There a thread has a niceness of its own. Where it may not be raised nothing is lost.
  constexpr int kNiceness = 10;
  thread_local const int result = setpriority(PRIO_PROCESS, 0, kNiceness);
  static_cast<void>(result);
#endif
}

void BodyDelivery::start(std::shared_ptr<SessionRequest> request,
                         std::unique_ptr<session::BodySource> source, std::string_view content_type,
                         async::Executor& workers) {
  std::make_shared<BodyDelivery>(std::move(request), std::move(source), workers)
      ->send_head(content_type);
}

BodyDelivery::BodyDelivery(std::shared_ptr<SessionRequest> request,
                           std::unique_ptr<session::BodySource> source, async::Executor& workers)
    : request_(std::move(request)), source_(std::move(source)), workers_(workers) {}

void BodyDelivery::send_head(std::string_view content_type) {
  http::Headers headers{{"Content-Type", content_type}};
  request_->context.record().status = 200;
  request_->context.add_headers(headers);
  request_->release_body();
  request_->exchange.start(200, std::move(headers), source_->size());
  if (request_->head_only) return request_->exchange.finish();
  send_next();
}

// An answer that has begun can only be broken off.
void BodyDelivery::send_next() {
  try {
    send_piece();
  } catch (const std::exception&) {
    request_->exchange.reset();
  }
}

void BodyDelivery::send_piece() {
  std::string piece;
  while (piece.size() < kBodyPieceBytes) {
    if (source_->next(kBodyPieceBytes - piece.size(), piece)) continue;
    request_->exchange.write(std::move(piece));
    return request_->exchange.finish();
  }
  request_->exchange.write(std::move(piece));
  // If the client leaves, this is destroyed with the exchange.
  request_->exchange.on_drained(kBodyPieceBytes, [self = shared_from_this()] {
    self->workers_.post([self] {
      stand_back();
      self->send_next();
    });
  });
}

}  // namespace windrow::api
