// The end of the process when an exception reaches the root of a thread or of main. Memory, threads
// or descriptors that the system does not give are no defect of Windrow, and have an advice of
// their own.
#pragma once

#include <exception>
#include <string_view>

namespace windrow {

// The exit code of a process that ended for want of memory, threads or descriptors.
constexpr int kExitShortage = 3;

// Says on standard error what is short and what to do, and exits with kExitShortage; any other
// exception is a defect, which is reported with `doing` ("the writer thread of a job") and aborts.
// No destructor runs: nothing is known of the state that the exception left, and what is on disk is
// what a later run continues from. Any thread.
[[noreturn]] void end_on(const std::exception& error, std::string_view doing);

// From now on an exception that nothing catches ends the process through end_on, on whatever thread
// it is. Called once, by main.
void end_on_uncaught();

}  // namespace windrow
