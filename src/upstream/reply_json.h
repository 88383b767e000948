// Reads the JSON of upstream servers, as far as it is the same in whole replies and in the events
// of streams. Pure.
#pragma once

#include <array>
#include <boost/json/monotonic_resource.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "llm/answer.h"

namespace windrow::upstream {

// A reply as JSON, in memory of its own that is freed as a whole: it is read once.
class ReplyJson {
 public:
  explicit ReplyJson(std::string_view body);

  // Null: it is not one JSON value, or nested too deeply.
  const boost::json::value* value() const { return value_ ? &*value_ : nullptr; }

  // It is nested deeper than kJsonDepthMax.
  bool too_deep() const { return too_deep_; }

 private:
  std::array<unsigned char, 2048> stack_;
  std::array<unsigned char, 4096> begin_;
  boost::json::monotonic_resource memory_{begin_.data(), begin_.size()};
  std::optional<boost::json::value> value_;
  bool too_deep_ = false;
};

// The body as one line, for a line of a log or of an event.
std::string one_line(std::string_view body);

// The beginning of a text from outside, in quotes, for a message.
std::string in_quotes(std::string_view text);

// The member "usage"; numbers that are missing are 0.
llm::Usage usage_of(const boost::json::object& body);

// The error object of a server: OpenAI's {"error":{...}}, and the simpler forms of Ollama
// ({"error":"..."}), FastAPI ({"detail":...}) and older vLLM (the error's members at the top).
struct ServerError {
  std::string message;
  std::string code;
  std::string type;
  std::string param;
};

ServerError error_in(const boost::json::value* body);

}  // namespace windrow::upstream
