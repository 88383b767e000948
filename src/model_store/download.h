// Download: one file from a server to a path, so that it may be broken off at any moment and goes
// on later: NAME.part grows beside the path with NAME.part.json, which says whose bytes those are,
// and gets its name when it is complete and its hash is right.
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
  std::string file;                      // for people: the source's text
  uint64_t bytes = 0;                    // there so far, those of earlier runs included
  std::optional<uint64_t> bytes_in_all;  // absent: the server does not say
};

// On the thread that called, some times a second; either may be empty.
struct DownloadEvents {
  std::function<void(const DownloadProgress&)> on_progress;
  std::function<void(const std::string&)> on_note;
};

struct DownloadTools {
  http::Client& client;
  store::Disk& disk;
  const DownloadEvents& events;
  std::string token;                   // for the hub; empty: none
  std::function<void(Duration)> wait;  // between two attempts
};

class Download {
 public:
  // `tools` outlives it; `path` is where the file goes. Its folder is there, and its lock is held.
  Download(const DownloadTools& tools, ModelSource source, std::string path);

  // Asks how large the file is and what its hash is; unknown where the server does not say. Blocks.
  Result<RemoteFile> look_up();

  // How many bytes of it are there already that `remote` lets keep.
  Result<uint64_t> bytes_there(const RemoteFile& remote) const;

  // Gets the rest. Goes on by itself where the connection breaks, until five attempts in a row
  // bring nothing. What is there after a failure is kept, unless it is the wrong file. Blocks.
  Result<void> run(RemoteFile remote);

 private:
  // What a call came to: one of the three.
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
  void tell_progress() const;

  Result<void> open_part();
  Result<void> start_over();
  void drop_part();
  Result<void> hash_what_is_there();
  Result<Attempt> attempt();
  Result<void> finish();

  // On the client's loop.
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
  std::atomic<uint64_t> bytes_ = 0;         // in the part
  std::atomic<uint64_t> bytes_in_all_ = 0;  // for the progress; 0: unknown
  uint64_t bytes_before_ = 0;
  uint64_t bytes_synced_ = 0;

  // Of one call.
  bool begun_ = false;
  bool mismatch_ = false;  // what came does not go on where the part ends
  bool started_over_ = false;
  std::optional<Error> broken_;
};

}  // namespace windrow::model_store
