#include "api/calls/call_delivery.h"

namespace windrow::api {

void CallDelivery::begin(std::weak_ptr<CallDelivery> self) {
  self_ = std::move(self);
  exchange_.on_disconnect([delivery = self_] {
    if (const auto here = delivery.lock()) here->apply(here->flow_.leave());
  });
}

void CallDelivery::emit(std::vector<llm::Delta> deltas, size_t bytes, TimePoint now) {
  pending_bytes_ += bytes;
  apply(flow_.emit(std::move(deltas), reader_waits(), now));
  wait_for_reader();
}

void CallDelivery::end(std::variant<http::ServerReply, llm::Failure> written,
                       const llm::Usage& usage) {
  if (auto* reply = std::get_if<http::ServerReply>(&written)) {
    if (exchange_.make_room(reply->body.size())) return apply(flow_.end(std::move(*reply)));
    written = llm::no_room_for_answer();
    std::get<llm::Failure>(written).usage = usage;
  }
  end(llm::Outcome(std::move(std::get<llm::Failure>(written))));
}

void CallDelivery::tick(TimePoint now) {
  apply(flow_.tick(now));
  wait_for_reader();
}

void CallDelivery::apply(CallSteps steps) {
  if (steps.cancel) callbacks_.cancel();
  if (steps.reply) {
    record_.add_headers(steps.reply->headers);
    exchange_.send(std::move(*steps.reply));
  }
  if (steps.start) {
    http::Headers headers{{"Content-Type", std::string(flow_.content_type())},
                          {"Cache-Control", "no-cache"},
                          {"X-Accel-Buffering", "no"}};
    record_.add_headers(headers);
    exchange_.start(200, std::move(headers));
  }
  if (!steps.bytes.empty()) exchange_.write(std::move(steps.bytes));
  if (steps.finish) exchange_.finish();
  if (steps.over) callbacks_.over();
}

// As events deltas are about twice as long.
bool CallDelivery::reader_waits() const {
  return exchange_.unsent_bytes() > 0 || !exchange_.make_room(2 * pending_bytes_);
}

// What is held back is sent when the client has taken what it was sent, or at a later tick when the
// server has room again.
void CallDelivery::wait_for_reader() {
  if (!flow_.holds_back()) return share_->shrink(std::exchange(pending_bytes_, 0));
  if (waits_for_reader_) return;
  waits_for_reader_ = true;
  exchange_.on_drained(0, [delivery = self_] {
    if (const auto here = delivery.lock()) here->drained();
  });
}

void CallDelivery::drained() {
  waits_for_reader_ = false;
  if (reader_waits()) return;
  apply(flow_.drained(clock_.now()));
  wait_for_reader();
}

}  // namespace windrow::api
