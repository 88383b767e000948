// The body of POST /v1/batches -> what is asked. Pure.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "batch/row_dialect.h"
#include "batches/batch_record.h"
#include "llm/answer.h"

namespace windrow::batches {

// A failure names the field at fault and says what it must be. Fields that nobody knows are
// refused.
std::variant<BatchRequest, llm::Failure> read_batch_request(const boost::json::object& body,
                                                            const batch::RowApis& apis = {});

// "24h", from "1h" to "8760h" -> seconds; nothing: it is none. And back.
std::optional<int64_t> window_of(std::string_view text);
std::string window_text(int64_t window_s);

// How long files may be kept: 1 hour to 30 days, as the API has it.
inline constexpr int64_t kKeptSecondsMin = 3600;
inline constexpr int64_t kKeptSecondsMax = 2'592'000;

}  // namespace windrow::batches
