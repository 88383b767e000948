#include "simulate/job_files.h"

#include <fmt/format.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <exception>

#include "simulate/ledger.h"

namespace windrow::simulate {

namespace json = boost::json;

namespace {

LogEntry read_entry(const std::string& text) {
  const json::value parsed = json::parse(text);
  const json::object& line = parsed.as_object();
  LogEntry entry{.line = line.at("windrow").at("line").as_int64(),
                 .attempts = line.at("windrow").at("attempts").as_int64()};
  if (line.at("custom_id").is_string())
    entry.custom_id = std::string(line.at("custom_id").as_string());
  if (line.at("error").is_null()) {
    entry.answer = answer_in(json::serialize(line.at("response").at("body")));
  } else {
    entry.code = std::string(line.at("error").at("code").as_string());
    entry.of_line = line.at("response").is_null();
    if (!entry.of_line) entry.status = line.at("response").at("status_code").as_int64();
  }
  return entry;
}

}  // namespace

Log read_log(const std::string& text) {
  Log log;
  size_t begin = 0;
  for (size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
    const std::string line = text.substr(begin, end - begin);
    try {
      log.entries.push_back(read_entry(line));
    } catch (const std::exception& error) {
      if (log.broken.empty())
        log.broken = fmt::format("line {}: {}: {}", log.entries.size() + 1, error.what(), line);
    }
    begin = end + 1;
  }
  log.torn = text.substr(begin);
  return log;
}

}  // namespace windrow::simulate
