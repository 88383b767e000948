#include "jinja/budget.h"

namespace windrow::jinja {

void Budget::too_deep() {
  throw Failure{Failure::Kind::kLimit, "too much within each other: calls, blocks or lists"};
}

void Budget::out_of_operations() const {
  throw Failure{Failure::Kind::kLimit,
                fmt::format("the rendering takes more than {} steps", limits_.operations_max)};
}

void Budget::text_too_long() const {
  throw Failure{Failure::Kind::kLimit,
                fmt::format("a text is longer than {} bytes", limits_.output_bytes_max)};
}

}  // namespace windrow::jinja
