// FileServer: a model hub and the servers behind it, as far as downloads see them: ranges, ETags,
// redirects that say what a file is. It misbehaves as it is told.
#pragma once

#include <fmt/format.h>

#include <charconv>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/crypto.h"
#include "http/testing/test_server.h"

namespace windrow::model_store::testing {

inline std::string sha256_of(std::string_view bytes) {
  Sha256 hash;
  hash.add(bytes);
  return hash.finish();
}

// A file that begins as a model does; no two stretches of it are alike.
inline std::string model_bytes(size_t size, std::string_view seed = "a") {
  std::string bytes = "GGUF";
  for (size_t i = 0; bytes.size() < size; ++i)
    bytes += fmt::format("{}{},", seed, i);
  bytes.resize(size);
  return bytes;
}

class FileServer {
 public:
  using Request = http::testing::TestRequest;
  using Reply = http::testing::TestReply;

  // What becomes of a reply before it is sent.
  using Spoil = std::function<void(const Request&, Reply&)>;

  FileServer() : server_([this](const Request& request) { return answer(request); }) {}

  std::string url(const std::string& target = "") const {
    return fmt::format("http://127.0.0.1:{}{}", server_.port(), target);
  }

  void put(const std::string& target, std::string bytes, std::string etag = "\"v1\"") {
    const std::scoped_lock lock(mutex_);
    files_[target] = {.bytes = std::move(bytes), .etag = std::move(etag)};
  }

  // As the hub does: this target sends on to `to` and says what is there.
  void link(const std::string& target, const std::string& to, const std::string& bytes) {
    const std::scoped_lock lock(mutex_);
    Reply reply{.status = 302};
    reply.headers = {{"Location", to},
                     {"X-Linked-Size", std::to_string(bytes.size())},
                     {"X-Linked-ETag", fmt::format("\"{}\"", sha256_of(bytes))}};
    replies_[target] = std::move(reply);
  }

  void put_reply(const std::string& target, Reply reply) {
    const std::scoped_lock lock(mutex_);
    replies_[target] = std::move(reply);
  }

  void set_spoil(Spoil spoil) {
    const std::scoped_lock lock(mutex_);
    spoil_ = std::move(spoil);
  }

  // Since the start.
  std::vector<Request> requests() const {
    const std::scoped_lock lock(mutex_);
    return requests_;
  }

  // The requests of one method.
  std::vector<Request> requests(std::string_view method) const {
    std::vector<Request> found;
    for (Request& request : requests()) {
      if (request.method == method) found.push_back(std::move(request));
    }
    return found;
  }

 private:
  struct File {
    std::string bytes;
    std::string etag;
  };

  Reply answer(const Request& request) {
    const std::scoped_lock lock(mutex_);
    requests_.push_back(request);
    const std::string target = request.target.substr(0, request.target.find('?'));
    Reply reply{.status = 404};
    if (const auto given = replies_.find(target); given != replies_.end()) {
      reply = given->second;
    } else if (const auto file = files_.find(target); file != files_.end()) {
      reply = give(request, file->second);
    }
    if (spoil_) spoil_(request, reply);
    return reply;
  }

  static Reply give(const Request& request, const File& file) {
    Reply reply{.body = file.bytes};
    if (!file.etag.empty()) reply.headers.add("ETag", file.etag);
    const std::string range(request.headers.get("range").value_or(""));
    const auto if_range = request.headers.get("if-range");
    if (!range.starts_with("bytes=") || (if_range && *if_range != file.etag)) return reply;
    size_t first = 0;
    std::from_chars(range.data() + 6, range.data() + range.size(), first);
    if (first >= file.bytes.size()) {
      reply.status = 416;
      reply.body.clear();
      return reply;
    }
    reply.status = 206;
    reply.body = file.bytes.substr(first);
    reply.headers.add("Content-Range", fmt::format("bytes {}-{}/{}", first, file.bytes.size() - 1,
                                                   file.bytes.size()));
    return reply;
  }

  mutable std::mutex mutex_;
  std::map<std::string, File> files_;
  std::map<std::string, Reply> replies_;
  Spoil spoil_;
  std::vector<Request> requests_;
  http::testing::TestServer server_;  // last: it uses all of the above
};

}  // namespace windrow::model_store::testing
