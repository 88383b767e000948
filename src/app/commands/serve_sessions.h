// ServeSessions: the sessions of a server, which are in memory.
#pragma once

#include <memory>

#include "api/calls/model_registry.h"
#include "api/keys/key_accounts.h"
#include "api/server_part.h"
#include "app/process/periodic_task.h"
#include "app/settings/settings.h"
#include "base/clock.h"
#include "base/result.h"
#include "dispatch/models.h"
#include "fleet/server_fleet.h"
#include "http/loop.h"
#include "session/models/dispatched_session_models.h"
#include "session/service/session_service.h"

namespace windrow::app {

class ServeSessions {
 public:
  // `clock` and `accounts` (null: requests need no key) outlive it. Errors: kInvalid for settings
  // that contradict each other.
  static Result<ServeSessions> open(const Settings& settings, const Clock& clock,
                                    api::KeyAccounts* accounts);

  // The endpoints, for ApiOptions::parts. The server that has the part ends before this does.
  api::PartFactory part() const;

  // Asks models from now on: call it when they are ready. Everything outlives stop(); the time at
  // which unused sessions are removed comes from `loop`.
  void start(dispatch::Models& models, const api::ModelRegistry& registry,
             const fleet::ServerFleet& fleet, http::Loop& loop);

  // Ends turns that models still work at. After the server has stopped; blocks.
  void stop();

 private:
  const Clock* clock_ = nullptr;
  std::string upstream_api_;  // Settings::session_upstream
  session::DispatchedSessionModelsOptions model_options_;

  // Destroyed from the last to the first.
  std::unique_ptr<session::DispatchedSessionModels> models_;
  std::unique_ptr<session::SessionService> service_;
  std::unique_ptr<PeriodicTask> expiry_;
};

}  // namespace windrow::app
