// The sections of the report that are about the whole job: its runs, latency, lengths, finish
// reasons, retries, servers, failures. HTML, escaped. Pure.
#pragma once

#include <string>
#include <string_view>

#include "report/log_tally.h"
#include "report/summary.h"

namespace windrow::report {

// Text as a page may have it: escaped, and its UTF-8 repaired.
std::string page_text(std::string_view text);

// <div> with a value and its name.
std::string page_tile(std::string_view name, std::string_view value);

// In this order; each is empty where there is nothing to tell.
std::string runs_section(const Summary& summary);
std::string latency_section(const LogTally& logs);
std::string lengths_section(const LogTally& logs);
std::string finish_section(const LogTally& logs);
std::string retries_section(const Summary& summary, const LogTally& logs);
std::string servers_section(const Summary& summary);

// `logs` may be null: then without examples of messages.
std::string failures_section(const Summary& summary, const LogTally* logs);

}  // namespace windrow::report
