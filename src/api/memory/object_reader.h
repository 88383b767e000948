// ObjectReader: the members of a JSON object of a request, each read as what it must be. The first
// problem counts; it names the member by its path ("body.items[0].tags"). Members that are null
// count as absent, and members that are not read are ignored, as Hindsight's server does.
//
//   llm::Problem problem;
//   ObjectReader body(object, "body", problem);
//   const std::string query = body.required_text("query");
//   if (problem) return *problem;
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "llm/field_values.h"

namespace windrow::api {

// 422 with the code "invalid_value". `message` begins with what is wrong, without the path.
llm::Failure unprocessable(std::string_view path, std::string message);

// Used by one thread. What it is made of outlives it.
class ObjectReader {
 public:
  ObjectReader(const boost::json::object& object, std::string path, llm::Problem& problem);

  const std::string& path() const { return path_; }
  std::string path_of(std::string_view name) const;

  // Null: absent.
  const boost::json::value* value(std::string_view name) const;
  const boost::json::array* list(std::string_view name);
  const boost::json::object* object(std::string_view name);

  std::optional<std::string> text(std::string_view name);
  std::string required_text(std::string_view name);
  std::optional<bool> flag(std::string_view name);
  std::optional<int64_t> number(std::string_view name, int64_t min, int64_t max);
  std::optional<double> real(std::string_view name);
  std::optional<std::vector<std::string>> texts(std::string_view name);

  // All values must be strings.
  std::map<std::string, std::string> text_map(std::string_view name);

  // Notes the problem, unless there is one.
  void fail(std::string_view name, std::string message);
  void wrong(std::string_view name, std::string_view wanted, const boost::json::value& got);
  bool failed() const { return problem_.has_value(); }
  llm::Problem& problem() { return problem_; }

 private:
  const boost::json::object& object_;
  const std::string path_;
  llm::Problem& problem_;
};

// The strings of a list; `path` is the list's.
std::vector<std::string> read_strings(const boost::json::array& list, std::string_view path,
                                      llm::Problem& problem);

// Without the white space around it.
std::string_view trimmed(std::string_view text);

// ASCII letters only.
std::string lower_case(std::string_view text);

}  // namespace windrow::api
