// libFuzzer: any bytes of a line are a row or a fault, the same each time, and a fault becomes one
// line of a log that is JSON. The same for the rows of programs.
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <variant>

#include "base/ensure.h"
#include "batch/result_line.h"
#include "batch/row.h"
#include "batch/row_reader.h"

namespace {

using namespace windrow::batch;

const RowReader& reader() {
  static const RowReader instance(
      {.body = {.defaults = {{"temperature", 0}}}, .models = {"m", "n"}, .any_model = false});
  return instance;
}

const RowReader& input_reader() {
  static const RowReader instance({.models = {"sort.lua"}, .form = RowForm::kInputs});
  return instance;
}

void read_twice(const RowReader& reader, const Line& line) {
  const RowOrFault once = reader.read(line);
  const RowOrFault twice = reader.read(line);
  ENSURE(once.index() == twice.index(), "a line is read otherwise the second time");
  if (const auto* row = std::get_if<Row>(&once)) {
    ENSURE(row->key == std::get<Row>(twice).key, "a row has another key the second time");
    ENSURE(!row->key.custom_id.empty(), "a row has a name");
    return;
  }
  const auto& fault = std::get<RowFault>(once);
  ENSURE(fault.key == std::get<RowFault>(twice).key, "a fault has another key the second time");
  const std::string text = error_line(fault, {});
  ENSURE(text.find('\n') == text.size() - 1, "a fault is one line");
  boost::system::error_code error;
  const boost::json::value value = boost::json::parse(text, error);
  ENSURE(!error && value.is_object(), "the line of a fault is JSON");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  row_fingerprint(bytes, "a");
  const Line line{.number = 1, .bytes = bytes, .length = size};
  read_twice(reader(), line);
  read_twice(input_reader(), line);
  return 0;
}
