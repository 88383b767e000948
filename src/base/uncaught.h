// Ending the process when an exception reaches main or the root of a thread. A shortage of memory,
// threads or file descriptors is not a defect, and gets a message of its own.
#pragma once

#include <exception>
#include <string_view>

namespace windrow {

// The exit code of a process that ends for a shortage of memory, threads or descriptors.
constexpr int kExitShortage = 3;

// For a shortage, prints what is short and what to do on standard error, and exits with
// kExitShortage. For any other exception, which is a defect, prints it with `doing` ("the writer
// thread of a job") and aborts. Runs no destructors: the state after the exception is unknown, and
// a later run continues from the files on disk. Any thread.
[[noreturn]] void end_on(const std::exception& error, std::string_view doing);

// Makes every uncaught exception, on any thread, end the process by end_on. Called once, by main.
void end_on_uncaught();

}  // namespace windrow
