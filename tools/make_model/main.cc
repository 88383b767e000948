#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <span>

#include "make_model/options.h"
#include "make_model/writer.h"

namespace {

constexpr int kUnusable = 2;

int fail(const std::string& message) {
  fmt::print(stderr, "make_model: {}\n", message);
  return kUnusable;
}

}  // namespace

int main(int argc, char** argv) try {
  using namespace windrow::make_model;  // NOLINT(google-build-using-namespace): it is our main
  const std::span<const char* const> arguments(argv, static_cast<size_t>(argc));
  const auto options = parse_options(arguments.subspan(1));
  if (!options) return fail(options.error().message);
  if (options->help) {
    fmt::print("{}", help_text());
    return 0;
  }
  const auto written = write_model(options->spec, options->output);
  if (!written) return fail(written.error().message);
  return 0;
} catch (const std::exception& failure) {
  return fail(failure.what());
}
