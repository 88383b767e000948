// The report of a run: one HTML page that needs nothing else, for a browser or an attachment. Pure.
#pragma once

#include <string>

#include "report/summary.h"
#include "report/throughput_history.h"

namespace windrow::report {

// Whatever `summary` holds is escaped; invalid UTF-8 in it is repaired.
std::string report_html(const Summary& summary, const ThroughputHistory& history);

}  // namespace windrow::report
