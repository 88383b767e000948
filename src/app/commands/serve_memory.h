// ServeMemory: the memory banks of a server with --data-dir.
#pragma once

#include <memory>

#include "api/calls/model_registry.h"
#include "api/keys/key_accounts.h"
#include "api/server_part.h"
#include "app/process/console.h"
#include "app/settings/settings.h"
#include "base/clock.h"
#include "base/result.h"
#include "dispatch/models.h"
#include "memory/bank/bank.h"
#include "memory/models/dispatched_models.h"
#include "memory/service/memory_service.h"
#include "store/disk.h"

namespace windrow::app {

// The defaults of banks with the settings of --memory-set. kInvalid names the setting.
Result<memory::BankConfig> bank_defaults(const Settings& settings);

class ServeMemory {
 public:
  // Without --data-dir it is empty, and its methods do nothing. `disk`, `clock`, `console` and
  // `accounts` (null: requests need no key) outlive it. Errors: kIo, kDiskFull, kConflict,
  // kInvalid.
  static Result<ServeMemory> open(const Settings& settings, store::Disk& disk, const Clock& clock,
                                  Console& console, api::KeyAccounts* accounts);

  // The endpoints, for ApiOptions::parts; empty, they say that there is no --data-dir. The server
  // that has the part ends before this does.
  api::PartFactory part() const;

  // Asks models from now on: call it when they are ready. Both outlive stop().
  void start(dispatch::Models& models, const api::ModelRegistry& registry);

  // Ends what runs in the background; it goes on after the next start. Blocks.
  void stop();

 private:
  memory::DispatchedModelsOptions model_options_;
  std::unique_ptr<memory::DispatchedModels> models_;  // outlives the service's use of it
  std::unique_ptr<memory::MemoryService> service_;
};

}  // namespace windrow::app
