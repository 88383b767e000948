#include "memory/recall/recall_trace.h"

#include <boost/json/array.hpp>
#include <map>

namespace windrow::memory {
namespace {

namespace json = boost::json;

std::string_view to_string(RecallBudget budget) {
  switch (budget) {
    case RecallBudget::kLow:
      return "low";
    case RecallBudget::kMid:
      return "mid";
    case RecallBudget::kHigh:
      return "high";
  }
  return "unknown";
}

json::array texts(std::span<const std::string> list) {
  json::array array;
  for (const std::string& text : list)
    array.emplace_back(text);
  return array;
}

json::object traced_query(const RecallQuery& query) {
  json::array types;
  for (const MemoryType type : query.types)
    types.emplace_back(to_string(type));
  return {{"query_text", query.text},
          {"budget", to_string(query.budget)},
          {"max_tokens", query.tokens_max},
          {"types", std::move(types)},
          {"tags", texts(query.tags.tags.list())},
          {"tags_match", to_string(query.tags.match)}};
}

json::object traced_arm(const Arm& arm) {
  json::array hits;
  for (const Hit& hit : arm.hits) {
    hits.emplace_back(json::object{{"rank", hits.size() + 1},
                                   {"node_id", hit.id.text},
                                   {"score", hit.score},
                                   {"score_name", arm.name == "semantic" ? "cosine" : "bm25"}});
  }
  return {{"method_name", arm.name == "keyword" ? "bm25" : arm.name}, {"results", std::move(hits)}};
}

json::array traced_ranking(std::span<const Arm> arms, std::span<const Hit> ranking) {
  std::map<MemoryId, json::object> ranks;
  for (const Arm& arm : arms)
    for (size_t rank = 0; rank < arm.hits.size(); ++rank)
      ranks[arm.hits[rank].id].emplace(arm.name, rank + 1);
  json::array merged;
  for (const Hit& hit : ranking) {
    merged.emplace_back(json::object{{"node_id", hit.id.text},
                                     {"rrf_score", hit.score},
                                     {"source_ranks", std::move(ranks[hit.id])},
                                     {"final_rrf_rank", merged.size() + 1}});
  }
  return merged;
}

}  // namespace

json::object trace_of(const RecallQuery& query, std::span<const Arm> arms,
                      std::span<const Hit> ranking, const RecallResult& result,
                      std::span<const std::string> notes) {
  json::array retrieved;
  for (const Arm& arm : arms)
    retrieved.emplace_back(traced_arm(arm));
  json::array returned;
  for (const Recalled& recalled : result.memories)
    returned.emplace_back(recalled.memory.id.text);
  return {{"query", traced_query(query)},
          {"retrieval_results", std::move(retrieved)},
          {"rrf_merged", traced_ranking(arms, ranking)},
          {"final_results", std::move(returned)},
          {"notes", texts(notes)},
          {"summary", json::object{{"total_nodes_visited", ranking.size()},
                                   {"results_returned", result.memories.size()}}}};
}

}  // namespace windrow::memory
