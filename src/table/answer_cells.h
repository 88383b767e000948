// What a line of a log says about its row, as cells of a table: the answer, its members where it is
// structured, why it ended, and why the row failed. Pure; any thread.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <string>
#include <vector>

namespace windrow::table {

struct AnswerCells {
  // A text; numbers for an embedding; another value for what has no text (rerank, programs). null:
  // there is none.
  boost::json::value answer;

  boost::json::object members;  // of a structured answer that is an object
  std::string finish_reason;
  std::string error;  // "CODE: MESSAGE"; empty: the row was answered
};

// `structured`: the job asked for answers that follow a schema. Otherwise only those are taken
// apart whose line says so ("structure").
AnswerCells read_answer(const boost::json::object& log_line, bool structured);

// The numbers of an embedding; empty where the line has none, or more than one.
std::vector<float> read_vector(const boost::json::object& log_line);

}  // namespace windrow::table
