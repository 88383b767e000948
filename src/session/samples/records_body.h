// RecordsBody: a session as GET /sessions/{id} shows it: for each turn the request that was sent to
// the model and its reply, as the trainers' reference server keeps them, made from the turns while
// it is sent. The length of all records grows with turns x context; what is stored does not.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "session/history/turn_path.h"
#include "session/samples/body_source.h"

namespace windrow::session {

enum class RecordsShown : uint8_t { kNone, kLast, kAll };

struct RecordsBodyOptions {
  RecordsShown shown = RecordsShown::kAll;
  std::string session_id;
  boost::json::object metadata;  // written last
};

// {"session_id", "records": [...], "metadata"}. The records are those of `turns`, in that order; of
// each turn all those before it in its conversation are among them. A record:
//
//   {"timestamp", "request_timestamp": null where it is not known, "method", "path",
//    "request": {...request_members, "tools": sent_tools of chat_members, "messages", "input_ids"},
//    "response": {...reply_members, "choices": [{"index", "message", "finish_reason",
//        "meta_info": {...meta_info of reply_members, "prompt_tokens", "cached_tokens",
//            "weight_version", "output_token_logprobs": [[logprob, id, null], ...],
//            "completion_tokens", "routed_experts", "indexer_topk"}}]},
//    "status_code"}
//
// Rows are base64 of little-endian int32, from row `routed_experts_start_len` of the request on
// where it has one (indexer_topk: from row 0), to that of the last token but one. They are left out
// where the server told none, or where the conversation does not have all of them.
std::unique_ptr<BodySource> make_records_body(std::vector<TurnPtr> turns,
                                              RecordsBodyOptions options);

}  // namespace windrow::session
