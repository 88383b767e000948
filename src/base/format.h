// Numbers, sizes and times as text for people. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"

namespace windrow {

// 1234567 -> "1,234,567".
std::string with_thousands(int64_t value);

// Three significant digits and a binary unit: 1536 -> "1.50 KiB".
std::string human_bytes(uint64_t bytes);

// The two largest units: "0.4 s", "38 s", "2 min 5 s", "3 h 12 min", "2 d 4 h".
std::string human_duration(Duration duration);

// A rate with its significant digits: "0.042", "3.61", "128", "12,400".
std::string human_rate(double per_second);

// "42 %" of 0.42.
std::string percent_of(double part);

}  // namespace windrow
