// What an answer says, whatever API its body is of: chat completions, completions, Responses,
// Messages, embeddings, reranking, results of programs. Members that differ between two answers of
// one text (ids, times, usage, log-probabilities) and thoughts are left out. Pure.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace windrow::report {

// Texts and calls of tools of each choice, vectors, scores; the body itself where it is of no known
// form. Equal for answers that say the same.
boost::json::value answer_content(const boost::json::object& body);

// A hash of that.
uint64_t content_hash(const boost::json::object& body);

// The answer of the first choice as people read it: its text, "name(arguments)" for a call of a
// tool, JSON for anything else.
std::string content_text(const boost::json::object& body);

// Why each choice ended, as its API calls that: "stop", "length", "end_turn", "incomplete". Empty
// where nothing is generated.
std::vector<std::string> finish_reasons_of(const boost::json::object& body);

// The first vector of an answer with embeddings, as numbers; nothing for another answer, and for
// base64.
std::optional<std::vector<double>> embedding_of(const boost::json::object& body);

// Cosine of the angle between two vectors; nothing where their lengths differ or one is zero.
std::optional<double> cosine(const std::vector<double>& one, const std::vector<double>& other);

}  // namespace windrow::report
