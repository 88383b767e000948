#include "api/server_part.h"

#include <utility>

#include "api/wire/error_reply.h"

namespace windrow::api {

PartRequest::PartRequest(RequestContext of_guard, http::Exchange to,
                         async::InFlightCounter& counter)
    : counted(&counter), context(std::move(of_guard)), exchange(std::move(to)) {
  counter.enter();
}

void PartRequest::answer(PartAnswer answer) {
  if (const auto* failure = std::get_if<llm::Failure>(&answer)) {
    context.record().code = failure->code;
    answer = error_reply(*failure);
  }
  auto& reply = std::get<http::ServerReply>(answer);
  context.record().status = reply.status;
  context.add_headers(reply.headers);
  exchange.send(std::move(reply));
}

std::optional<PartRequest> PartHost::admit(const http::ServerRequest& request,
                                           http::Exchange exchange, Access access) const {
  auto entered = guard.admit(request, access);
  if (auto* reply = std::get_if<http::ServerReply>(&entered)) {
    exchange.send(std::move(*reply));
    return std::nullopt;
  }
  std::optional<PartRequest> admitted(std::in_place, std::get<RequestContext>(std::move(entered)),
                                      std::move(exchange), in_flight);
  admitted->context.take_id(request.headers);
  if (auto failure = refusal()) {
    admitted->answer(*std::move(failure));
    return std::nullopt;
  }
  return admitted;
}

}  // namespace windrow::api
