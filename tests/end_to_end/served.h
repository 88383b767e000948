// Served: `windrow serve` as a process of its own, at a port of its own, and a client that speaks
// with it over a socket, as plainly as can be: what it sends and hears is bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "end_to_end/job_folder.h"
#include "end_to_end/process.h"

namespace windrow::end_to_end {

struct HttpReply {
  int status = 0;  // 0: there was none
  std::string head;
  std::string body;  // of chunks, put together
};

// A connection with one request on it. Reads wait for bytes, with a deadline that only a server
// that hangs reaches.
class HttpCall {
 public:
  // `key`: empty, or of the Authorization header. `headers`: more of them, whole lines; one that
  // says a length says it for the body.
  HttpCall(uint16_t port, std::string_view method, std::string_view path, std::string_view body,
           std::string_view key = "", std::string_view headers = "");
  ~HttpCall();
  HttpCall(const HttpCall&) = delete;
  HttpCall& operator=(const HttpCall&) = delete;

  // False: the connection ended before it came.
  bool wait_for(std::string_view text);

  // Until the connection ends.
  HttpReply rest();

 private:
  bool read_more();

  int fd_ = -1;
  std::string bytes_;
};

class Served {
 public:
  // `words`: flags besides --listen; `files_max`: as in Command. Waits for the port, not for the
  // models.
  explicit Served(const JobFolder& folder, const Words& words,
                  std::string_view listen = "127.0.0.1:0", std::optional<uint64_t> files_max = {});

  Process& process() { return *process_; }
  uint16_t port() const { return port_; }

  // False when it ended before.
  bool wait_until_ready();

  HttpReply get(std::string_view path, std::string_view key = "") const;
  HttpReply post(std::string_view path, std::string_view body, std::string_view key = "") const;
  HttpReply del(std::string_view path, std::string_view key = "") const;

  // Sends a file for batches to /v1/files.
  HttpReply upload(std::string_view name, std::string_view bytes, std::string_view key = "") const;

 private:
  std::unique_ptr<Process> process_;
  uint16_t port_ = 0;
};

// How many requests are inside, as the server reports it for this key.
size_t inside(const Served& served, std::string_view key = "");

// The samples of a family on /metrics, a line each.
std::string metric(const Served& served, std::string_view family, std::string_view key = "");

// {"model":"sim","messages":[...],MEMBERS}
std::string chat_body(std::string_view content, std::string_view members = "");

}  // namespace windrow::end_to_end
