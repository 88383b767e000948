// Input: where the lines of a job come from.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"

namespace windrow::batch {

// Bytes from front to back. Used by one thread, except interrupt().
class ByteSource {
 public:
  virtual ~ByteSource() = default;

  // At least one byte into `buffer` and how many, or 0 at the end. Blocks while a pipe is empty.
  // After interrupt() it returns 0 at once. Messages do not name the input: the reader of lines
  // does. kIo also for a regular file that ends before the size it had when it became an Input.
  virtual Result<size_t> read(char* buffer, size_t size) = 0;

  // Any thread: ends a read that waits and all that follow.
  virtual void interrupt() = 0;
};

// Called on the thread that reads, each time before it waits for bytes that are not there yet.
using BeforeWait = std::function<void()>;

// Thread-safe.
class Input {
 public:
  virtual ~Input() = default;

  // The bytes from the start, still compressed when they are. One that can be read only once gives
  // them the first time and kConflict afterwards. `before_wait` may be empty.
  virtual Result<std::unique_ptr<ByteSource>> open(BeforeWait before_wait = nullptr) = 0;

  // A regular file can be opened again and again; a pipe or terminal cannot.
  virtual bool rereadable() const = 0;

  // Bytes in all, when that is known.
  virtual std::optional<uint64_t> size() const = 0;

  // What to call it in messages.
  virtual const std::string& name() const = 0;
};

// The file at `path`, or standard input for "-". kNotFound when there is none, kInvalid for a
// folder.
Result<std::unique_ptr<Input>> open_input(const std::string& path);

}  // namespace windrow::batch
