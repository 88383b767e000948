// RecordsBody: a session as GET /sessions/{id} shows it: for each turn the request that was sent to
// the model and its reply, as the trainers' reference server keeps them, made from the turns while
// it is sent. The length of all records grows with turns x context; what is stored does not.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <memory>
#include <string>

#include "session/history/turn_path.h"
#include "session/samples/body_source.h"

namespace windrow::session {

enum class RecordsShown : uint8_t { kNone, kLast, kAll };

struct RecordsBodyOptions {
  RecordsShown shown = RecordsShown::kAll;
  std::string session_id;
  boost::json::object metadata;  // written last
};

// {"session_id", "records": [...], "metadata"}. The records of a tree are those of `turns`, in that
// order, each with its own conversation (`paths[i]` ends with the turn of record i).
std::unique_ptr<BodySource> make_records_body(std::vector<TurnPath> paths,
                                              RecordsBodyOptions options);

}  // namespace windrow::session
