#include "simulate/report.h"

#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <utility>

namespace windrow::simulate {
namespace {

// The report of this process, which runs one simulation at a time.
struct Report {
  std::string command;
  std::string moment;
  const Trace* trace = nullptr;
};
Report report;

void print(std::string_view invariant, std::string_view what) {
  fmt::print("broken: {}\n{}\n", invariant, what);
  if (!report.moment.empty()) fmt::print("when: {}\n", report.moment);
  if (report.trace != nullptr) {
    fmt::print("the last events:\n");
    for (const std::string& event : report.trace->last())
      fmt::print("  {}\n", event);
  }
  fmt::print("again: {}\n", report.command);
  std::fflush(stdout);
}

void process_aborts(int) {
  print("the program ended itself", "what it said stands above");
  _exit(1);
}

}  // namespace

void report_about(std::string command, const Trace& trace) {
  report = {.command = std::move(command), .moment = {}, .trace = &trace};
  std::signal(SIGABRT, &process_aborts);
}

void report_moment(std::string moment) {
  report.moment = std::move(moment);
}

void broken(std::string_view invariant, std::string_view what) {
  print(invariant, what);
  _exit(1);
}

}  // namespace windrow::simulate
