// ModelStore: models from a hub or a web server, kept in a cache folder. A model that has been
// downloaded is used from then on without asking the server.
//
//   FOLDER/hf/OWNER/REPO/REVISION/FILE.gguf
//   FOLDER/web/HOST/HASH/FILE.gguf            HASH: of the URL, or the stated one of the file
//   .../FILE.gguf.json                        its size and its SHA-256
//   .../FILE.gguf.part, .part.json            an incomplete download
//   .../FILE.gguf.lock                        held by the process that downloads it
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
  std::string folder;  // created when it is needed
  std::string hub = std::string(kDefaultHub);
  std::string token;  // sent to the hub only

  // Replaced by tests: the free bytes below a folder, and waiting.
  std::function<uint64_t(const std::string& folder)> free_bytes;
  std::function<void(Duration)> wait;
};

// Parses the address of a hub. kInvalid unless it is https://, or http:// on this machine.
Result<http::Url> parse_hub_url(std::string_view text);

// Used by one thread at a time; several processes may use one folder.
class ModelStore {
 public:
  // `client` and `disk` outlive it.
  ModelStore(http::Client& client, store::Disk& disk, ModelStoreOptions options);

  // Downloads the model unless it is in the cache, and returns the path of its file, or of its
  // first part. Blocks until it is complete, also while another process downloads the same model;
  // must not be called on the client's event loop. Errors say what to do next:
  //   kInvalid      the text, or the file is not a model
  //   kNotFound     there is no such file
  //   kDiskFull     the bytes so far are kept
  //   kUnavailable  the server or the network failed, or the hash is wrong
  //   kIo
  Result<std::string> fetch(std::string_view text, const DownloadEvents& events);

 private:
  bool is_complete(const std::string& path) const;
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
