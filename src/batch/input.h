// Input: the file or pipe that the lines of a job come from, and its decompression.
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

// The bytes of an input, from front to back. Used by one thread, except interrupt().
class ByteSource {
 public:
  virtual ~ByteSource() = default;

  // Reads at least one byte into `buffer` and returns how many, or 0 at the end. Blocks while a
  // pipe is empty. Returns 0 at once after interrupt(). Messages do not name the input; LineSource
  // adds that. kIo also for a regular file that has become shorter since it was opened.
  virtual Result<size_t> read(char* buffer, size_t size) = 0;

  // Any thread: ends a read that blocks, and all later ones.
  virtual void interrupt() = 0;
};

// Called on the reading thread, each time before it blocks for bytes that have not arrived.
using BeforeWait = std::function<void()>;

class LineSource;
struct LineLimits;

// Thread-safe.
class Input {
 public:
  virtual ~Input() = default;

  // Opens the bytes from the start, not decompressed. kConflict for an input that can be read only
  // once and has been opened, kNotFound, kIo. `before_wait` may be empty.
  virtual Result<std::unique_ptr<ByteSource>> open(BeforeWait before_wait = nullptr) = 0;

  // The lines of a job, from the first: those of the text, unless an input makes lines of something
  // else. Fails as open(), and with kInvalid for what it cannot make lines of.
  virtual Result<std::unique_ptr<LineSource>> open_lines(const LineLimits& limits,
                                                         BeforeWait before_wait);

  // Whether it can be opened more than once: a regular file can, a pipe or terminal cannot.
  virtual bool rereadable() const = 0;

  // The size in bytes, if it is known.
  virtual std::optional<uint64_t> size() const = 0;

  // Its name in messages.
  virtual const std::string& name() const = 0;
};

// The file at `path`, or standard input for "-". kNotFound when there is none, kInvalid for a
// folder, kIo.
Result<std::unique_ptr<Input>> open_input(const std::string& path);

// Decompresses `packed` if its first bytes are those of gzip or zstd; other bytes pass unchanged
// (decompress.cc). read() fails with kInvalid, after all bytes that could be decompressed, if the
// data is damaged, cut off, or in a format that is recognised but not supported (bzip2, xz, zip).
std::unique_ptr<ByteSource> decompressed(std::unique_ptr<ByteSource> packed);

}  // namespace windrow::batch
