#include "api/calls/active_calls.h"

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <map>
#include <new>
#include <string>
#include <utility>

#include "api/wire/error_reply.h"
#include "api/wire/refusals.h"
#include "llm/request_json.h"

namespace windrow::api {
namespace {

// How often calls are looked at for deadlines and quiet streams.
constexpr Duration kTick = std::chrono::milliseconds(250);

}  // namespace

ActiveCalls::ActiveCalls(const CallSurroundings& around, CallRules rules, int32_t worker_threads)
    : around_(around),
      rules_(std::move(rules)),
      workers_(worker_threads),
      lane_reads_(workers_),
      tick_(around.loop) {}

void ActiveCalls::watch() {
  tick();
}

void ActiveCalls::take(const CallRoute& route, RequestContext admitted,
                       const http::ServerRequest& request, http::Exchange exchange) {
  const auto refuse = [&](const llm::Failure& failure) {
    http::ServerReply reply = error_reply(failure, route.dialect, admitted.record().id);
    send_reply(std::move(admitted), std::move(reply), failure.code, std::move(exchange));
  };
  if (const auto failure = around_.gate.refusal()) return refuse(*failure);
  if (!around_.admission.take(request.body.size())) return refuse(no_room_for_body());

  std::string id = ids_.next();
  RequestRecord& record = admitted.record();
  record.endpoint = route.endpoint;
  record.dialect = route.dialect;
  record.call = fmt::format("{}{}", id_prefix(route.endpoint, route.dialect), id);
  CallInput input{.endpoint = route.endpoint,
                  .dialect = route.dialect,
                  .body = std::move(request.body),
                  .gzip = request.gzip,
                  .headers = envelope_headers(request.headers),
                  .key = record.key,
                  .priority_max = admitted.priority_max(),
                  .weight = admitted.weight(),
                  .arrived_at = record.arrived_at,
                  .chance = ids_.chance(),
                  .call_id = record.call,
                  .may_be_tei = route.may_be_tei,
                  .unit_scores = route.unit_scores,
                  .is_admin = admitted.sees_all(),
                  .counts_only = route.counts_only};
  const auto call = std::make_shared<Call>(*this, CallBirth{.exchange = std::move(exchange),
                                                            .admitted = std::move(admitted),
                                                            .input = std::move(input),
                                                            .id = std::move(id)});
  calls_.push_front(call);
  call->place = calls_.begin();
  around_.inside.enter();
  call->begin();
}

void ActiveCalls::show_later(RequestContext admitted, http::Exchange exchange,
                             std::function<http::ServerReply()> make) {
  if (pages_ >= kPagesMax) {
    const llm::Failure failure = too_many_pages();
    return send_reply(std::move(admitted), error_reply(failure), failure.code, std::move(exchange));
  }
  struct Asked {
    RequestContext admitted;
    http::Exchange exchange;
    std::atomic<bool> unwanted = false;
  };
  auto asked = std::make_shared<Asked>(std::move(admitted), std::move(exchange));
  asked->exchange.on_disconnect([asked = std::weak_ptr(asked)] {
    if (const auto page = asked.lock()) page->unwanted = true;
  });
  ++pages_;
  around_.inside.enter();
  workers_.post(
      [this, asked = std::move(asked), make = std::move(make)]() mutable {
        http::ServerReply reply;
        std::string code;
        const auto refuse = [&](const llm::Failure& failure) {
          reply = error_reply(failure);
          code = failure.code;
        };
        // What one page does to the server must not be done to the others.
        try {
          if (asked->unwanted) {
            reply.status = client_left().status;  // for the log: nobody reads it
            code = client_left().code;
          } else {
            reply = make();
          }
        } catch (const std::bad_alloc&) {
          refuse(no_memory("to make this page"));
        } catch (const std::exception&) {
          refuse(unexpected("make this page"));
        }
        send_reply(std::move(asked->admitted), std::move(reply), std::move(code),
                   std::move(asked->exchange));
        asked.reset();
        --pages_;
        around_.inside.leave();
      },
      async::Executor::Length::kLong);
}

void ActiveCalls::over(Call& call) {
  around_.admission.release(call.bytes());
  calls_.erase(call.place);
  around_.inside.leave();
}

void ActiveCalls::tick() {
  const TimePoint now = around_.clock.now();
  // First, so that it goes on where memory ends in what follows.
  tick_.wake_at(now + kTick, [this] { tick(); });
  if (around_.gate.is_over(now)) give_up_all(stopping());
  around_.gate.look();
  give_up_unreachable();
  const std::list<std::shared_ptr<Call>> calls = calls_;
  for (const std::shared_ptr<Call>& call : calls)
    call->tick(now);
}

void ActiveCalls::give_up_all(const llm::Failure& why) {
  const std::list<std::shared_ptr<Call>> calls = calls_;
  for (const std::shared_ptr<Call>& call : calls)
    call->give_up(why);
}

// Who is being answered is left alone: a server that stops gently closes its port and goes on.
void ActiveCalls::give_up_unreachable() {
  if (!around_.gate.may_refuse_models()) return;
  std::map<uint64_t, bool> away;  // by ServedModel::upstreams
  const std::list<std::shared_ptr<Call>> calls = calls_;
  for (const std::shared_ptr<Call>& call : calls) {
    const ServedModel* model = call->offered();
    if (model == nullptr) continue;
    const auto [found, fresh] = away.try_emplace(model->upstreams);
    if (fresh) found->second = around_.gate.refusal_of(*model).has_value();
    if (found->second && call->is_waiting()) call->give_up(unreachable(model->name));
  }
}

}  // namespace windrow::api
