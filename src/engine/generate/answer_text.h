// AnswerText: the bytes of an answer as tokens bring them, watched for stop texts, which may begin
// in one token and end in another. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace windrow::engine {

class AnswerText {
 public:
  // The answer ends before the first of `stop`, none of which is empty.
  explicit AnswerText(std::vector<std::string> stop) : stop_(std::move(stop)) {}

  // True when a stop text is now complete; the text then ends before it. The earliest one wins.
  bool append(std::string_view bytes);

  // The last so many bytes are no part of the answer, which is over.
  void drop_last(size_t bytes) { bytes_.resize(bytes_.size() - bytes); }

  // What may be said for good so far: nothing of it can become part of a stop text or of a
  // character that is not complete. Bytes from the front of the text.
  size_t settled_bytes() const;

  const std::string& bytes() const { return bytes_; }

  // The stop text that was completed; nothing: none was.
  const std::optional<std::string>& stopped_by() const { return stopped_by_; }

 private:
  std::vector<std::string> stop_;
  std::string bytes_;
  std::optional<std::string> stopped_by_;
};

}  // namespace windrow::engine
