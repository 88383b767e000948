// KeyFile: keeps a KeyRingHolder what a file of keys says, also when the file changes.
//
//   auto file = KeyFile::open(disk, path);      // at the start; an error ends the program
//   options.keys = (*file)->keys();
//   (*file)->refresh();                          // every few seconds, and on SIGHUP
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "api/keys/keys.h"
#include "base/result.h"
#include "store/disk.h"

namespace windrow::api {

// One thread at a time; the holder any.
class KeyFile {
 public:
  // Errors of the disk and of KeyRing::parse. `disk` outlives it.
  static Result<std::unique_ptr<KeyFile>> open(store::Disk& disk, std::string path);

  const std::shared_ptr<KeyRingHolder>& keys() const { return keys_; }

  // Reads the file again: true, other keys hold from now on; false, it is as it was. After an error
  // those from before hold; the same error again and again is told once, and then false.
  Result<bool> refresh();

  // A sentence for people where all users of this machine may read the file, or others than its
  // owner write to it; else empty.
  std::string warning() const;

 private:
  KeyFile(store::Disk& disk, std::string path, std::string text, KeyRing keys);

  store::Disk& disk_;
  const std::string path_;
  std::string text_;  // as it was read last
  std::string error_;
  std::shared_ptr<KeyRingHolder> keys_;
};

}  // namespace windrow::api
