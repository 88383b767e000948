// GoodClient: asks one question after the other, in each of the forms that clients use, and checks
// the replies. The questions were asked alone before, of a model whose answers do not depend on the
// requests that run beside them.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "http/client.h"
#include "http/url.h"

namespace windrow::load {

struct Reply {
  int status = 0;  // 0: there was none
  std::string body;
  std::string why;  // there was none
};

// Blocks until the reply is there, at most two minutes. Not on the client's loop.
Reply ask(http::Client& client, const std::string& url, const std::string& body);

// A question, and what was answered when nothing else was asked.
struct Question {
  std::string body;         // of /v1/chat/completions, or of another path
  std::string stream_body;  // the same as a stream; empty: that is none
  std::string path = "/v1/chat/completions";
  int status = 200;
  std::string answer;  // of chats the text, else the whole of it that repeats
};

// The part of a reply that is compared: the text of a chat, the vectors of inputs, the code of an
// error.
std::string gist(const Question& question, const std::string& body);

// The text of a stream; nothing where it did not end as it should.
std::optional<std::string> gist_of_stream(const std::string& events);

// The findings of all clients. Any thread.
struct Findings {
  std::atomic<int64_t> right = 0;
  std::atomic<int64_t> refused = 0;  // 429, which a busy server may say
  std::mutex mutex;
  std::vector<std::string> wrong;

  void add_wrong(std::string text);
};

// Asks a question chosen by `random`, in a form chosen by it.
void ask_one(http::Client& client, const std::string& base, const std::vector<Question>& questions,
             Random& random, Findings& findings);

}  // namespace windrow::load
