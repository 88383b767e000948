// ModelStore: models by their names elsewhere, kept in a cache folder. What is there once is used
// from then on, without asking anybody.
//
//   FOLDER/hf/OWNER/REPO/REVISION/FILE.gguf
//   FOLDER/web/HOST/HASH/FILE.gguf            HASH: of the URL, or the one that was stated
//   .../FILE.gguf.json                        its size and its SHA-256
//   .../FILE.gguf.part, .part.json            while it comes
//   .../FILE.gguf.lock                        held by who downloads
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "http/client.h"
#include "model_store/download.h"
#include "model_store/model_source.h"
#include "store/disk.h"

namespace windrow::model_store {

struct ModelStoreOptions {
  std::string folder;  // is made when it is needed
  std::string hub = std::string(kDefaultHub);
  std::string token;  // shown to the hub and to nobody else

  // What tests replace: free bytes below a folder, and waiting.
  std::function<uint64_t(const std::string& folder)> free_bytes;
  std::function<void(Duration)> wait;
};

// The hub may be named with https:// or, on this machine, http://: kInvalid otherwise.
Result<http::Url> parse_hub_url(std::string_view text);

// Used by one thread at a time; several processes may use one folder.
class ModelStore {
 public:
  // `client` and `disk` outlive it.
  ModelStore(http::Client& client, store::Disk& disk, ModelStoreOptions options);

  // The path of the model's file (of its first, when it is in parts) once all of it is there.
  // Blocks, for as long as that takes; not on the client's loop. Waits for another process that is
  // at the same model. Errors say what to do next:
  //   kInvalid      the text, or what is there is no model
  //   kNotFound     there is no such file
  //   kDiskFull     what is there is kept
  //   kUnavailable  the server, the way to it, or the wrong hash
  //   kIo
  Result<std::string> fetch(std::string_view text, const DownloadEvents& events);

 private:
  bool is_there(const std::string& path) const;
  std::vector<size_t> missing(const std::vector<ModelSource>& sources) const;
  std::string path_of(const ModelSource& source) const;
  Result<std::unique_ptr<store::FileLock>> lock(const std::string& path,
                                                const DownloadEvents& events);
  Result<void> download(const std::vector<ModelSource>& sources, const DownloadEvents& events);

  http::Client& client_;
  store::Disk& disk_;
  const ModelStoreOptions options_;
};

}  // namespace windrow::model_store
