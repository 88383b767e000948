// What `windrow probe` shows: a table, bars, and what follows from them. Pure.
#pragma once

#include <boost/json/object.hpp>
#include <span>
#include <string>

#include "app/settings/environment.h"
#include "dispatch/probe_ladder.h"
#include "upstream/server_kind.h"

namespace windrow::app {

// "8 in flight: 12.4 requests/s, 790 tokens/s", said as soon as it is known.
std::string probe_note(const dispatch::ProbeMeasure& measure);

struct ProbePlot {
  size_t columns = 80;
  bool utf8 = false;  // bars of blocks, with eighths at their ends; else of '#'
};

// The table with a header, one line for each number in flight and a bar behind each. The bars are
// of what the finding compares: tokens per second, or requests per second where a server does not
// tell its tokens.
std::string probe_table(std::span<const dispatch::ProbeMeasure> measures, const ProbePlot& plot);

// "recommended: --concurrency 8", why, and what would make the upstream do more; lines.
std::string probe_recommendation(const dispatch::ProbeFinding& finding,
                                 std::span<const dispatch::ProbeMeasure> measures,
                                 const upstream::ServerIdentity& server);

boost::json::object to_json(const dispatch::ProbeMeasure& measure);
boost::json::object to_json(const dispatch::ProbeFinding& finding);

// Whether text in this environment is UTF-8, as locale(7) has it: LC_ALL, else LC_CTYPE, else LANG.
bool locale_is_utf8(const Environment& environment);

}  // namespace windrow::app
