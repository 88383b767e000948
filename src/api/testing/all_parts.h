// The parts that `windrow serve` gives to its server, with nothing behind them: for tests that hold
// documents to all endpoints and metrics there are. A new part is added to all_parts().
#pragma once

#include <boost/json/object.hpp>
#include <memory>
#include <optional>
#include <vector>

#include "api/keys/key_accounts.h"
#include "api/keys/request_guard.h"
#include "api/memory/memory_calls.h"
#include "api/openapi/openapi.h"
#include "api/pages/serve_metrics.h"
#include "api/server_part.h"
#include "api/session/session_calls.h"
#include "api/storage/storage_calls.h"
#include "async/in_flight_counter.h"
#include "base/clock.h"

namespace windrow::api::testing {

inline std::vector<PartFactory> all_parts() {
  return {storage_part({}), memory_part(nullptr), session_part(nullptr)};
}

// All parts, without a server.
class AllParts {
 public:
  AllParts() {
    const PartHost host{.guard = guard_, .in_flight = in_flight_, .refusal = [] {
                          return std::optional<llm::Failure>();
                        }};
    for (const PartFactory& make : all_parts())
      parts_.push_back(make(host));
  }

  void metrics(MetricsWriter& page) const {
    for (const std::unique_ptr<ServerPart>& part : parts_)
      part->metrics(page);
  }

  // What each adds to the OpenAPI document.
  std::vector<boost::json::object> sections() const {
    std::vector<boost::json::object> sections;
    for (const std::unique_ptr<ServerPart>& part : parts_)
      sections.push_back(part->openapi());
    return sections;
  }

 private:
  const SystemClock clock_;
  ServeMetrics metrics_;
  RequestGuard guard_{clock_, std::make_shared<KeyAccounts>(clock_, nullptr), metrics_, {}};
  async::InFlightCounter in_flight_;
  std::vector<std::unique_ptr<ServerPart>> parts_;
};

// The whole description of such a server.
inline boost::json::object whole_document(bool demands_keys = true) {
  return openapi_document("1.2.3", demands_keys, AllParts().sections());
}

}  // namespace windrow::api::testing
