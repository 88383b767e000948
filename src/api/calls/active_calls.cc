#include "api/calls/active_calls.h"

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <exception>
#include <map>
#include <new>
#include <string>
#include <utility>

#include "api/wire/error_reply.h"
#include "api/wire/refusals.h"
#include "base/crypto.h"
#include "base/hash.h"
#include "llm/request_json.h"

namespace windrow::api {
namespace {

constexpr size_t kIdSecretBytes = 32;

Hash128 id_hash(uint64_t count, const std::string& secret) {
  std::array<char, sizeof(count) + kIdSecretBytes> text{};
  std::memcpy(text.data(), &count, sizeof(count));
  std::memcpy(text.data() + sizeof(count), secret.data(), kIdSecretBytes);
  return hash128({text.data(), text.size()});
}

// A page that is made of a body, tokens and their texts, may take so many bytes for each of it.
constexpr size_t kPageBytesPerByte = 8;

// How often calls are polled for deadlines and quiet streams.
constexpr Duration kTick = std::chrono::milliseconds(250);

}  // namespace

CallIds::CallIds() : secret_(secret_bytes(kIdSecretBytes)) {}

std::string CallIds::next() {
  const Hash128 hash = id_hash(++count_, secret_);
  return to_hex(hash.high) + to_hex(hash.low);
}

uint64_t CallIds::chance() {
  return id_hash(++count_, secret_).low;
}

ActiveCalls::ActiveCalls(const ActiveCallsServices& services, CallRules rules,
                         int32_t worker_threads)
    : services_(services),
      rules_(std::move(rules)),
      workers_(worker_threads),
      lanes_(workers_),
      tick_(services.loop),
      call_services_{.loop = services.loop,
                     .workers = workers_,
                     .lanes = lanes_,
                     .models = services.models,
                     .rules = rules_,
                     .gate = services.gate,
                     .metrics = services.metrics,
                     .live = services.live,
                     .body_memory = services.body_memory,
                     .responses = services.responses,
                     .answer_room = services.answer_room,
                     .over = [this](Call& call) { over(call); }} {}

void ActiveCalls::watch() {
  tick();
}

void ActiveCalls::take(const CallRoute& route, RequestContext context,
                       const http::ServerRequest& request, http::Exchange exchange) {
  const auto refuse = [&](const llm::Failure& failure) {
    http::ServerReply reply = error_reply(failure, route.dialect, context.record().id);
    send_reply(std::move(context), std::move(reply), failure.code, std::move(exchange));
  };
  if (const auto failure = services_.gate.refusal()) return refuse(*failure);
  if (!services_.body_memory.take(request.body.size())) return refuse(no_room_for_body());

  std::string id = ids_.next();
  RequestRecord& record = context.record();
  record.endpoint = route.endpoint;
  record.dialect = route.dialect;
  record.call = fmt::format("{}{}", id_prefix(route.endpoint, route.dialect), id);
  CallInput input{.endpoint = route.endpoint,
                  .dialect = route.dialect,
                  .body = std::move(request.body),
                  .gzip = request.gzip,
                  .headers = envelope_headers(request.headers),
                  .key = record.key,
                  .priority_max = context.priority_max(),
                  .weight = context.weight(),
                  .arrived_at = record.arrived_at,
                  .chance = ids_.chance(),
                  .call_id = record.call,
                  .may_be_tei = route.may_be_tei,
                  .unit_scores = route.unit_scores,
                  .is_admin = context.sees_all(),
                  .counts_only = route.counts_only};
  const auto call = std::make_shared<Call>(call_services_, NewCall{.exchange = std::move(exchange),
                                                                   .context = std::move(context),
                                                                   .input = std::move(input),
                                                                   .id = std::move(id)});
  calls_.push_front(call);
  call->position = calls_.begin();
  services_.in_flight.enter();
  call->begin();
}

void ActiveCalls::show_later(RequestContext context, http::Exchange exchange,
                             std::function<PageAnswer()> make) {
  if (pages_ >= kPagesMax) {
    const llm::Failure failure = too_many_pages();
    return send_reply(std::move(context), error_reply(failure), failure.code, std::move(exchange));
  }
  struct Page {
    RequestContext context;
    http::Exchange exchange;
    std::atomic<bool> unwanted = false;
  };
  auto page = std::make_shared<Page>(std::move(context), std::move(exchange));
  page->exchange.on_disconnect([page = std::weak_ptr(page)] {
    if (const auto here = page.lock()) here->unwanted = true;
  });
  ++pages_;
  services_.in_flight.enter();
  workers_.post(
      [this, page = std::move(page), make = std::move(make)]() mutable {
        http::ServerReply reply;
        std::string code;
        const auto refuse = [&](const llm::Failure& failure) {
          reply = error_reply(failure);
          code = failure.code;
        };
        // A page that the server has no memory for fails alone.
        try {
          if (page->unwanted) {
            reply.status = client_left().status;  // for the log
            code = client_left().code;
          } else {
            PageAnswer answer = make();
            if (const auto* failure = std::get_if<llm::Failure>(&answer)) {
              refuse(*failure);
            } else {
              reply = std::get<http::ServerReply>(std::move(answer));
            }
          }
        } catch (const std::bad_alloc&) {
          refuse(no_memory("to make this page"));
        } catch (const std::exception&) {
          refuse(unexpected("make this page"));
        }
        send_reply(std::move(page->context), std::move(reply), std::move(code),
                   std::move(page->exchange));
        page.reset();
        --pages_;
        services_.in_flight.leave();
      },
      async::Executor::Length::kLong);
}

void ActiveCalls::show_of_body(RequestContext context, const http::ServerRequest& request,
                               http::Exchange exchange,
                               std::function<PageAnswer(std::string_view body)> make) {
  // Returns the memory when the page is made, or is not wanted any more.
  struct Held {
    Held(BodyMemoryBudget& of, std::string sent)
        : budget(of), body(std::move(sent)), taken(body.size()) {}
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;
    ~Held() { budget.release(taken); }

    BodyMemoryBudget& budget;
    std::string body;
    size_t taken;
  };
  const auto refuse = [&](const llm::Failure& failure) {
    send_reply(std::move(context), error_reply(failure), failure.code, std::move(exchange));
  };
  if (services_.gate.state() == ServeState::kLoading) return refuse(loading());
  if (services_.gate.state() == ServeState::kStopping) return refuse(stopping());
  if (!services_.body_memory.take(request.body.size())) return refuse(no_room_for_body());
  auto held = std::make_shared<Held>(services_.body_memory, std::move(request.body));
  auto page = [this, held = std::move(held), gzip = request.gzip,
               make = std::move(make)]() -> PageAnswer {
    BodyMemoryBudget& budget = services_.body_memory;
    if (auto refusal = admit_body(budget, gzip, rules_.body_bytes_max, held->body, held->taken))
      return *std::move(refusal);
    const size_t bytes = held->body.size() * kPageBytesPerByte;
    if (!budget.grow(bytes)) return no_room_for_body();
    held->taken += bytes;
    return make(held->body);
  };
  show_later(std::move(context), std::move(exchange), std::move(page));
}

void ActiveCalls::over(Call& call) {
  services_.body_memory.release(call.body_bytes());
  calls_.erase(call.position);
  services_.in_flight.leave();
}

void ActiveCalls::tick() {
  const TimePoint now = services_.clock.now();
  // First, so that the timer goes on if memory runs out below.
  tick_.wake_at(now + kTick, [this] { tick(); });
  if (services_.gate.is_over(now)) give_up_all(stopping());
  services_.gate.look();
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

// Calls that are being answered continue: an upstream that stops gracefully closes its port first.
void ActiveCalls::give_up_unreachable() {
  if (!services_.gate.may_refuse_models()) return;
  std::map<uint64_t, bool> unreachable_upstreams;  // by ServedModel::upstreams
  const std::list<std::shared_ptr<Call>> calls = calls_;
  for (const std::shared_ptr<Call>& call : calls) {
    const ServedModel* model = call->offered();
    if (model == nullptr) continue;
    const auto [found, fresh] = unreachable_upstreams.try_emplace(model->upstreams);
    if (fresh) found->second = services_.gate.refusal_of(*model).has_value();
    if (found->second && call->is_waiting()) call->give_up(unreachable(model->name));
  }
}

}  // namespace windrow::api
