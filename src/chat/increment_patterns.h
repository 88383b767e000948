// IncrementPatterns: the increments of one template, without rendering each. Most conversations go
// on with one message of text, and what a template writes around that text is then the same each
// time: a pattern, found once for each kind of increment. A pattern is used only for texts that the
// template is known to write as they are; all else is rendered, so the results are those of
// increment_of().
//
// A template sees a text only through what it does with it: it changes its characters, or looks for
// something in it, which can only be something that the template itself names. So the template is
// rendered with texts that would show such changes (other writing systems, quotes, line ends,
// capitals, great length) and with the words and short marks that it names. The text of a message
// is plain if it has no space at its ends, none of the other texts that the template names, such as
// "</think>", whatever the case of their letters, and none of its words at the ends.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "chat/chat_template.h"
#include "chat/increment.h"

namespace windrow::chat {

// Thread-safe. The first increment of a kind takes as long as some thirty without patterns.
class IncrementPatterns {
 public:
  IncrementPatterns(ChatTemplate chat_template, int64_t now_unix_s);
  ~IncrementPatterns();
  IncrementPatterns(const IncrementPatterns&) = delete;
  IncrementPatterns& operator=(const IncrementPatterns&) = delete;

  // As increment_of() with the template and the time.
  std::variant<Increment, Unwritable> increment_of(const SampledTurn& turn,
                                                   const Conversation& appended) const;

  // How many of them were made without rendering the messages.
  int64_t from_patterns() const;

 private:
  struct Pattern;

  std::shared_ptr<const Pattern> pattern_of(const SampledTurn& turn, std::string_view role,
                                            const Conversation& appended) const;
  Pattern learn(const SampledTurn& turn, std::string_view role, const Conversation& appended) const;

  const ChatTemplate template_;
  const int64_t now_unix_s_;
  const std::vector<std::string> named_;  // texts that the template names, none empty

  mutable std::shared_mutex mutex_;
  mutable std::map<std::string, std::shared_ptr<const Pattern>, std::less<>> patterns_;
  mutable std::atomic<int64_t> from_patterns_ = 0;
};

}  // namespace windrow::chat
