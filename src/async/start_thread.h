// start_thread: a std::thread at whose root exceptions end the process (base/uncaught.h), also the
// exception of a thread that the system does not give: others already run and could not be joined.
#pragma once

#include <exception>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "base/uncaught.h"

namespace windrow::async {

// `name` is for the report of a defect ("the writer thread of a job"); it outlives the thread.
template <class Body>
std::thread start_thread(std::string_view name, Body body) {
  try {
    return std::thread([name, body = std::move(body)]() mutable {
      try {
        body();
      } catch (const std::exception& error) {
        end_on(error, name);
      }
    });
  } catch (const std::system_error& error) {
    end_on(error, name);
  }
}

}  // namespace windrow::async
