// The output of `windrow probe`: table, bars and recommendation, as text and as JSON. Pure.
#pragma once

#include <boost/json/object.hpp>
#include <span>
#include <string>

#include "app/commands/probe_run.h"
#include "app/settings/environment.h"
#include "upstream/server_kind.h"

namespace windrow::app {

// "8 in flight: 12.4 requests/s, 790 tokens/s", for progress.
std::string probe_note(const ProbeMeasure& measure);

struct ProbePlot {
  size_t columns = 80;
  bool utf8 = false;  // bars of blocks, with eighths at their ends; else of '#'
};

// The table with a header, one line for each number in flight and a bar behind each. The bars are
// of what the finding compares: tokens per second, or requests per second where a server does not
// tell its tokens.
std::string probe_table(std::span<const ProbeMeasure> measures, const ProbePlot& plot);

// Lines: "recommended: --concurrency 8", the reason, and which setting of the server would raise
// its throughput.
std::string probe_recommendation(const ProbeFinding& finding,
                                 std::span<const ProbeMeasure> measures,
                                 const upstream::ServerIdentity& server);

boost::json::object to_json(const ProbeMeasure& measure);
boost::json::object to_json(const ProbeFinding& finding);

// Whether text in this environment is UTF-8, as locale(7) has it: LC_ALL, else LC_CTYPE, else LANG.
bool locale_is_utf8(const Environment& environment);

}  // namespace windrow::app
