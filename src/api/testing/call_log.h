// What a server shows of its calls: the lines of its log, and numbers of /metrics.
#pragma once

#include <fmt/format.h>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "api/testing/server_rig.h"

namespace windrow::api::testing {

// The lines of a server's log, one for each request that has ended.
class CallLog {
 public:
  ApiOptions options() {
    ApiOptions options;
    options.worker_threads = 1;
    options.log = [this](const std::string& line) {
      const std::scoped_lock lock(mutex_);
      lines_.push_back(boost::json::parse(line).as_object());
    };
    return options;
  }

  // Of calls; complete once the server has been stopped.
  std::vector<boost::json::object> calls() const {
    const std::scoped_lock lock(mutex_);
    std::vector<boost::json::object> calls;
    for (const boost::json::object& line : lines_) {
      if (line.contains("call")) calls.push_back(line);
    }
    return calls;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<boost::json::object> lines_;
};

inline int64_t metric(ServerRig& rig, std::string_view name) {
  const std::string line = fmt::format("\n{} ", name);
  const std::string page = rig.ask(get("/metrics")).body;
  return std::stoll(page.substr(page.find(line) + line.size()));
}

inline int64_t bytes_inside(ServerRig& rig) {
  return metric(rig, "windrow_body_bytes_inside");
}

}  // namespace windrow::api::testing
