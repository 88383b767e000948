// One value as somebody wrote it -> the field of Settings it belongs to, checked against its row.
#pragma once

#include <boost/json/value.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "app/settings/settings.h"
#include "base/result.h"

namespace windrow::app {

// `text` as a flag or a variable gives it: "32", "on", "a=x.gguf". A list grows by it.
// `place` opens the error: "--rows-max", "WINDROW_ROWS_MAX". kInvalid when the row does not take
// it.
Result<void> set_from_text(Settings& settings, const SettingRow& row, std::string_view text,
                           std::string_view place);

// `value` as a file gives it. A list is replaced by it; a body default is not given this way.
Result<void> set_from_json(Settings& settings, const SettingRow& row,
                           const boost::json::value& value, std::string_view place);

// "temperature=0" -> temperature, 0. The value is JSON if it parses, else the text itself.
Result<std::pair<std::string, boost::json::value>> parse_body_default(std::string_view text,
                                                                      std::string_view place);

}  // namespace windrow::app
