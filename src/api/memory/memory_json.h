// What memory banks hold, as the JSON of Hindsight's API 0.9.1. Pure; any thread.
//
// Null members are left out where the published types allow it, and kept in lists of free objects
// (memories, documents, history), whose members are always the same.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "llm/answer.h"
#include "memory/bank/bank_store.h"
#include "memory/recall/recall.h"
#include "memory/reflect/reflect.h"
#include "memory/service/memory_service.h"
#include "memory/service/operation_runner.h"

namespace windrow::api {

boost::json::value time_json(std::optional<memory::UnixMs> time);  // or null
boost::json::array tags_json(const memory::Tags& tags);

// A UUID that is made of the name; the same name in any case has the same one.
std::string entity_id_of(std::string_view name);

// --- memories ---

boost::json::object memory_item(const memory::Memory& memory);  // of a list
// `sources` are those of an observation, as far as they are there.
boost::json::object memory_detail(const memory::Memory& memory,
                                  std::span<const memory::Memory> sources);

// Oldest first. `newest_first` are the changes of `memory`; `sources` as above.
boost::json::array history_json(const memory::Memory& memory,
                                std::span<const memory::ObservationChange> newest_first,
                                std::span<const memory::Memory> sources);

boost::json::object recall_json(const memory::RecallResult& result, bool with_entities);
boost::json::object reflect_json(const memory::ReflectAnswer& answer, bool with_facts);
boost::json::object usage_json(const llm::Usage& usage);

// --- banks ---

boost::json::object bank_profile(const memory::Bank& bank);
boost::json::object bank_item(const memory::BankView& view);  // of a list
boost::json::object config_json(const memory::Bank& bank, const memory::BankConfig& config,
                                const boost::json::object& overrides);
boost::json::object stats_json(const memory::BankId& bank, const memory::BankStats& stats);

// --- documents ---

boost::json::object document_item(const memory::BankId& bank, const memory::Document& document);

// How many memories of each type a document has.
struct TypeCounts {
  int64_t world = 0;
  int64_t experience = 0;
  int64_t observation = 0;
};
boost::json::object document_detail(const memory::BankId& bank, const memory::Document& document,
                                    const TypeCounts& counts);
// `created` is its document's.
boost::json::object chunk_json(const memory::BankId& bank, const memory::Chunk& chunk,
                               memory::UnixMs created);

// --- operations ---

boost::json::object operation_item(const memory::Operation& operation);
boost::json::object operation_detail(const memory::Operation& operation, bool with_payload);

// {"items", "total", "limit", "offset"}
boost::json::object page_json(boost::json::array items, int64_t total, int64_t limit,
                              int64_t offset);

}  // namespace windrow::api
