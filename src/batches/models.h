// What batches ask of those who have the models.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "dispatch/dispatcher.h"
#include "llm/answer.h"
#include "llm/request.h"

namespace windrow::batches {

struct BatchModel {
  std::string name;                            // as answers and /v1/models say it
  dispatch::Dispatcher* dispatcher = nullptr;  // outlives all batches

  // Servers elsewhere have it: bodies go there as they were written.
  bool raw = false;
};

// Thread-safe.
class BatchModels {
 public:
  virtual ~BatchModels() = default;

  // Which of them answers rows that name this one; empty: rows that name none. It may be loaded
  // when the first row asks for it. A failure says that there is none.
  virtual std::variant<BatchModel, llm::Failure> find(llm::Endpoint endpoint,
                                                      std::string_view name) = 0;

  // Which servers elsewhere have it (WorkItem::upstreams).
  virtual uint64_t upstreams_of(std::string_view name) = 0;

  // Whether rows wait for this one to be loaded, or would have to.
  virtual bool is_waited_for(std::string_view /*name*/) { return false; }

  // Why nothing can be answered at this moment; empty: it can.
  virtual std::string unavailable() { return ""; }
};

}  // namespace windrow::batches
