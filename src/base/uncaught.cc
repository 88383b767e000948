#include "base/uncaught.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <new>
#include <system_error>

namespace windrow {
namespace {

// Texts that are whole: without memory nothing can be put together.
constexpr const char* kNoMemory =
    "windrow: out of memory: the system gives this process no more\n"
    "windrow: end other programs, raise the limit (ulimit -v, MemoryMax= of a service, --memory of "
    "a container), or let it do less at a time (--concurrency, --rows-max, --ctx); rows that were "
    "written are safe, and the same command continues\n";
constexpr const char* kNoThread =
    "windrow: the system lets this process start no further thread\n"
    "windrow: raise the limit of processes and threads (ulimit -u, TasksMax= of a service, "
    "--pids-limit of a container) or of memory (ulimit -v), or end other programs of this user; "
    "rows that were written are safe, and the same command continues\n";
constexpr const char* kNoDescriptor =
    "windrow: this process may open no further file or connection\n"
    "windrow: raise the limit of open files (ulimit -n, LimitNOFILE= of a service); rows that were "
    "written are safe, and the same command continues\n";

// Null: nothing that the system is short of.
const char* shortage(const std::exception& error) {
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) return kNoMemory;
  const auto* of_system = dynamic_cast<const std::system_error*>(&error);
  if (of_system == nullptr) return nullptr;
  const std::error_code& code = of_system->code();
  if (code == std::errc::resource_unavailable_try_again) return kNoThread;
  if (code == std::errc::not_enough_memory) return kNoMemory;
  if (code == std::errc::too_many_files_open || code == std::errc::too_many_files_open_in_system)
    return kNoDescriptor;
  return nullptr;
}

[[noreturn]] void end_of_uncaught() {
  if (const std::exception_ptr uncaught = std::current_exception()) {
    try {
      std::rethrow_exception(uncaught);
    } catch (const std::exception& error) {
      end_on(error, "a thread");
    } catch (...) {
    }
  }
  std::abort();
}

}  // namespace

void end_on(const std::exception& error, std::string_view doing) {
  if (const char* const text = shortage(error)) {
    std::fputs(text, stderr);
    std::fflush(stderr);
    std::_Exit(kExitShortage);
  }
  fmt::print(stderr,
             "windrow: internal error: {} ended early: {}\n"
             "windrow: this is a defect; results already written are safe, and the same command "
             "continues\n",
             doing, error.what());
  std::fflush(stderr);
  std::abort();
}

void end_on_uncaught() {
  std::set_terminate(end_of_uncaught);
}

}  // namespace windrow
