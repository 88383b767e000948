// Download: downloads one file to a path. It can be interrupted at any moment and resumed later:
// the bytes go to NAME.part beside the path, with NAME.part.json, which identifies the file they
// belong to. NAME.part is renamed to NAME when it is complete and its hash is right.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/crypto.h"
#include "base/result.h"
#include "http/client.h"
#include "model_store/model_source.h"
#include "model_store/part_state.h"
#include "model_store/remote_file.h"
#include "store/disk.h"

namespace windrow::model_store {

struct DownloadProgress {
  std::string file;                      // for people: ModelSource::text
  uint64_t bytes = 0;                    // so far, with those of earlier runs
  std::optional<uint64_t> bytes_in_all;  // absent: the server does not say
};

// Called on the thread that called run(), some times a second; either may be empty.
struct DownloadEvents {
  std::function<void(const DownloadProgress&)> on_progress;
  std::function<void(const std::string&)> on_note;
};

struct DownloadTools {
  http::Client& client;
  store::Disk& disk;
  const DownloadEvents& events;
  std::string token;                   // for the hub; empty: none
  std::function<void(Duration)> wait;  // blocks between two attempts
};

// Used by one thread, which is not the one of the client's event loop.
class Download {
 public:
  // `tools` outlives it; `path` is the name of the complete file. Its folder exists, and its lock
  // is held.
  Download(const DownloadTools& tools, ModelSource source, std::string path);

  // Asks the server for the size and the hash of the file; absent where it does not say. Blocks.
  // kNotFound, kUnavailable.
  Result<RemoteFile> look_up();

  // How many bytes of an earlier attempt can be kept, given the file on the server now.
  Result<uint64_t> bytes_there(const RemoteFile& remote) const;

  // Downloads the missing bytes. Resumes by itself when the connection breaks, until five attempts
  // in a row bring nothing. Blocks. After a failure the bytes so far are kept, unless they are of
  // the wrong file. kNotFound, kUnavailable (also for a wrong hash), kDiskFull, kIo.
  Result<void> run(RemoteFile remote);

 private:
  // The result of a call: an error, a failure of the connection, or the head of a reply.
  struct Outcome {
    std::optional<Error> error;
    std::optional<http::ClientFailure> failure;
    http::ReplyHead head;
    http::Url from;
    RemoteFile hub;
  };

  enum class Attempt : uint8_t { kComplete, kAgain };

  Outcome call(http::Method method, const http::Headers& headers,
               const http::ClientRequest::OnData& on_data);
  http::ClientResult send_and_wait(http::ClientRequest request);
  void report_progress() const;

  Result<void> open_part();
  Result<void> restart();
  void discard_part();
  Result<void> hash_existing_part();
  Result<Attempt> attempt();
  Result<void> finish();

  // Called on the client's event loop.
  bool take(const http::ReplyHead& head, std::string_view bytes);
  Result<void> begin(const http::ReplyHead& head);
  Result<void> write(std::string_view bytes);
  Result<void> write_state(uint64_t bytes_synced);

  std::string part_path() const { return path_ + ".part"; }
  std::string state_path() const { return path_ + ".part.json"; }
  Error about(ErrorKind kind, std::string_view what) const;

  const DownloadTools& tools_;
  const ModelSource source_;
  const std::string path_;

  RemoteFile remote_;
  std::unique_ptr<store::AppendFile> part_;
  Sha256 hash_;
  std::atomic<uint64_t> bytes_ = 0;         // in NAME.part
  std::atomic<uint64_t> bytes_in_all_ = 0;  // for the progress; 0: unknown
  uint64_t bytes_before_ = 0;
  uint64_t bytes_synced_ = 0;

  // State of the current call:
  bool begun_ = false;
  bool mismatch_ = false;  // the reply does not continue where NAME.part ends
  bool restarted_ = false;
  std::optional<Error> broken_;
};

}  // namespace windrow::model_store
