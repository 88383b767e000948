// A `windrow sim-upstream` of a test's own.
#pragma once

#include <csignal>
#include <cstdint>
#include <string>
#include <utility>

#include "end_to_end/job_folder.h"

namespace windrow::end_to_end {

class SimUpstream {
 public:
  // Returns when it listens; without a port, at one that is free.
  SimUpstream(const JobFolder& folder, Words words, uint16_t port = 0)
      : process_(folder.command(all_of(std::move(words), port))) {
    process_.wait_until([&] { return process_.output().find('\n') != std::string::npos; });
    url_ = process_.output().substr(0, process_.output().find('\n'));
  }

  // Its base URL: "http://127.0.0.1:4711/v1".
  const std::string& url() const { return url_; }

  // Ends it as Ctrl-C does.
  Ended stop() {
    process_.send(SIGINT);
    return process_.wait();
  }

 private:
  static Words all_of(Words words, uint16_t port) {
    words.insert(words.begin(), {"sim-upstream", "--port", std::to_string(port)});
    return words;
  }

  Process process_;
  std::string url_;
};

}  // namespace windrow::end_to_end
