// Requests for memory banks, from JSON bodies and query strings to values. Pure; any thread.
//
// The shapes are those of Hindsight's API 0.9.1. A body that is not as it must be fails with 422,
// and the message says which member and what it must be. What is asked for and not there is
// refused, and never left out silently; members that are not known at all are ignored, as Hindsight
// does.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/pages/listing.h"
#include "llm/field_values.h"
#include "memory/bank/bank_store.h"
#include "memory/bank/tag_filter.h"
#include "memory/recall/recall.h"
#include "memory/reflect/reflect.h"
#include "memory/retain/retain.h"
#include "memory/service/reply.h"

namespace windrow::api {

// The object of a body. 422: it is no JSON object.
memory::Reply<boost::json::object> read_object(std::string_view body);
// An empty body, and null, are an empty object.
memory::Reply<boost::json::object> read_optional_object(std::string_view body);

// A part of a path as the id of a bank, 422 otherwise; and as a UUID: 400, `name` is in the
// message.
memory::Reply<memory::BankId> read_bank_id(std::string_view part);
llm::Problem check_uuid(std::string_view text, std::string_view name);

// --- memories ---

struct RetainRequest {
  std::vector<memory::RetainItem> items;
  bool in_background = false;
  std::optional<memory::OperationId> operation;
};
memory::Reply<RetainRequest> read_retain(const boost::json::object& body);

struct RecallRequest {
  memory::RecallQuery query;
  bool none = false;  // only types were asked for that there are no more
  bool with_entities = true;
};
memory::Reply<RecallRequest> read_recall(const boost::json::object& body);

struct ReflectRequest {
  memory::ReflectQuery query;
  bool with_facts = false;
};
memory::Reply<ReflectRequest> read_reflect(const boost::json::object& body);

memory::Reply<memory::MemoryQuery> read_memory_query(const Query& query);

// Changes of one memory. An inner nullopt clears the time.
struct MemoryPatch {
  std::optional<std::string> text;
  std::optional<std::string> context;
  std::optional<std::optional<memory::UnixMs>> occurred_start;
  std::optional<std::optional<memory::UnixMs>> occurred_end;
  std::optional<memory::MemoryType> type;
  std::optional<std::vector<std::string>> entities;
  std::optional<bool> valid;
  std::string reason;

  bool edits() const {
    return text || context || occurred_start || occurred_end || type || entities;
  }
};
memory::Reply<MemoryPatch> read_memory_patch(const boost::json::object& body);

// kInvalid: a memory that is invalidated is only edited after it was made valid again.
Result<void> apply_patch(const MemoryPatch& patch, memory::UnixMs now, memory::Memory& memory);

// --- banks ---

// As MemoryService::put_bank takes it: "name", "mission", "disposition" and members of BankConfig.
memory::Reply<boost::json::object> read_bank_change(const boost::json::object& body);
memory::Reply<boost::json::object> read_disposition(const boost::json::object& body);

// What PATCH config changes: overrides (null: removed), and what belongs to the bank itself.
struct ConfigChange {
  boost::json::object overrides;
  boost::json::object bank;
};
memory::Reply<ConfigChange> read_config_change(const boost::json::object& body);

// --- lists ---

struct PageQuery {
  int64_t limit = 100;
  int64_t offset = 0;
};
constexpr int64_t kPageMax = 10'000;
memory::Reply<PageQuery> read_page(const Query& query, int64_t limit_default, int64_t limit_min,
                                   int64_t limit_max = kPageMax);

struct OperationQuery {
  std::optional<memory::OperationStatus> status;
  std::optional<memory::OperationType> type;
  PageQuery page;
  bool none = false;  // a status or type that no operation has here
};
memory::Reply<OperationQuery> read_operation_query(const Query& query);

// The tags and tags_match of a query string.
memory::Reply<memory::TagFilter> read_tag_filter(const Query& query,
                                                 memory::TagsMatch match_default);

// Whether a tag is as a pattern with '*', in any case; an empty pattern takes all.
bool tag_matches(std::string_view pattern, std::string_view tag);

}  // namespace windrow::api
