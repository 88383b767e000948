#include "model_store/download.h"

#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <limits>
#include <utility>
#include <variant>
#include <vector>

#include "base/format.h"
#include "model_store/remote_file.h"

namespace windrow::model_store {
namespace {

constexpr int kRedirectsMax = 10;
constexpr int kFruitlessMax = 5;
constexpr Duration kConnectTimeout = std::chrono::seconds(20);
constexpr Duration kIdleTimeout = std::chrono::seconds(60);
constexpr Duration kLook = std::chrono::milliseconds(200);
constexpr Duration kWaitMin = std::chrono::seconds(1);

// How often a file without a hash is synced: bytes after that are downloaded again after a power
// failure.
constexpr uint64_t kSyncBytes = uint64_t{64} << 20;
constexpr size_t kReadBytes = size_t{1} << 20;

constexpr std::string_view kMagic = "GGUF";

bool is_redirect(int32_t status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

bool is_success(int32_t status) {
  return status >= 200 && status < 300;
}

// Whether the same call may do better at once. Before anything came, what is wrong with the way to
// the server is for people to mend.
bool is_passing(http::FailureKind kind, bool something_came) {
  switch (kind) {
    case http::FailureKind::kReset:
    case http::FailureKind::kTimeout:
    case http::FailureKind::kProtocol:
      return true;
    case http::FailureKind::kResolve:
    case http::FailureKind::kConnect:
    case http::FailureKind::kFiles:
    case http::FailureKind::kTls:
    case http::FailureKind::kProxy:
      return something_came;
    case http::FailureKind::kTooLarge:
    case http::FailureKind::kCancelled:
      return false;
  }
  return false;
}

Duration wait_before(int attempt) {
  return kWaitMin * (int64_t{1} << std::min(attempt, 5));
}

}  // namespace

Download::Download(const DownloadTools& tools, ModelSource source, std::string path)
    : tools_(tools), source_(std::move(source)), path_(std::move(path)) {}

Error Download::about(ErrorKind kind, std::string_view what) const {
  return {kind, fmt::format("{}: {}", source_.text, what)};
}

// --- calls --------------------------------------------------------------------------------------

void Download::report_progress() const {
  if (!tools_.events.on_progress) return;
  const uint64_t in_all = bytes_in_all_;
  tools_.events.on_progress({.file = source_.text,
                             .bytes = bytes_,
                             .bytes_in_all = in_all > 0 ? std::optional(in_all) : std::nullopt});
}

http::ClientResult Download::send_and_wait(http::ClientRequest request) {
  const bool has_progress = static_cast<bool>(request.on_data);
  auto result = std::make_shared<std::promise<http::ClientResult>>();
  std::future<http::ClientResult> waiting = result->get_future();
  tools_.client.send(std::move(request),
                     [result](http::ClientResult one) { result->set_value(std::move(one)); });
  while (waiting.wait_for(kLook) != std::future_status::ready) {
    if (has_progress) report_progress();
  }
  return waiting.get();
}

// Redirects are followed here and not by the client: the token is for the hub alone, and the hub
// says what the file is in the very reply that sends on.
Download::Outcome Download::call(http::Method method, const http::Headers& headers,
                                 const http::ClientRequest::OnData& on_data) {
  Outcome outcome{.error = {}, .failure = {}, .head = {}, .from = source_.url, .hub = {}};
  for (int hop = 0;; ++hop) {
    http::ClientRequest request{.method = method, .url = outcome.from, .headers = headers};
    // The bytes of the file count, not what a compression made of them.
    request.headers.set("Accept-Encoding", "identity");
    if (source_.of_hub && !tools_.token.empty() && same_origin(outcome.from, source_.url))
      request.headers.set("Authorization", fmt::format("Bearer {}", tools_.token));
    request.limits = {.connect = kConnectTimeout,
                      .idle = kIdleTimeout,
                      .total = {},
                      .reply_bytes_max = std::numeric_limits<size_t>::max()};
    request.on_data = on_data;
    http::ClientResult result = send_and_wait(std::move(request));
    if (auto* failure = std::get_if<http::ClientFailure>(&result)) {
      outcome.failure = std::move(*failure);
      return outcome;
    }
    outcome.head = std::move(std::get<http::ClientReply>(result).head);
    if (source_.of_hub) add_hub_facts(outcome.head.headers, outcome.hub);
    if (!is_redirect(outcome.head.status)) return outcome;
    const Result<http::Url> next =
        redirect_target(outcome.from, outcome.head.headers.get("location").value_or(""));
    if (!next) {
      outcome.error = about(next.error().kind, next.error().message);
      return outcome;
    }
    if (hop >= kRedirectsMax) {
      outcome.error = about(ErrorKind::kUnavailable,
                            fmt::format("{} sends on in circles", http::origin(source_.url)));
      return outcome;
    }
    outcome.from = *next;
  }
}

Result<RemoteFile> Download::look_up() {
  for (int attempt = 0;; ++attempt) {
    const Outcome outcome = call(http::Method::kHead, {}, nullptr);
    if (outcome.error) return *outcome.error;
    const bool last = attempt + 1 >= kFruitlessMax;
    if (outcome.failure) {
      if (last || !is_passing(outcome.failure->kind, false))
        return about(ErrorKind::kUnavailable, outcome.failure->message);
    } else if (is_success(outcome.head.status)) {
      RemoteFile remote;
      add_file_facts(outcome.head.headers, remote);
      if (outcome.hub.bytes) remote.bytes = outcome.hub.bytes;
      remote.sha256 = outcome.hub.sha256;
      return remote;
    } else if (!source_.of_hub && (outcome.head.status == 405 || outcome.head.status == 501 ||
                                   outcome.head.status == 403)) {
      // Not everyone answers HEAD, and a signed URL may be for GET alone.
      return RemoteFile{};
    } else if (last || !worth_another_try(outcome.head.status)) {
      return status_error(source_, outcome.head, outcome.from, !tools_.token.empty());
    }
    tools_.wait(wait_before(attempt));
  }
}

Result<uint64_t> Download::bytes_there(const RemoteFile& remote) const {
  if (!tools_.disk.exists(part_path())) return uint64_t{0};
  const Result<std::unique_ptr<store::ReadFile>> file = tools_.disk.open_read(part_path());
  if (!file) return file.error();
  const Result<uint64_t> bytes = (*file)->size();
  if (!bytes) return bytes.error();
  const Result<std::string> state = tools_.disk.read_all(state_path());
  return bytes_to_keep(state ? parse_part_state(*state) : std::nullopt, *bytes, remote);
}

// --- the part -----------------------------------------------------------------------------------

Result<void> Download::open_part() {
  const Result<uint64_t> keep = bytes_there(remote_);
  if (!keep) return keep.error();
  Result<std::unique_ptr<store::AppendFile>> part = tools_.disk.open_append(part_path());
  if (!part) return part.error();
  part_ = *std::move(part);
  if (const Result<void> cut = part_->truncate(*keep); !cut) return cut.error();
  bytes_ = *keep;
  bytes_before_ = *keep;
  bytes_synced_ = *keep;
  if (*keep == 0) return {};
  if (tools_.events.on_note) {
    tools_.events.on_note(
        fmt::format("{}: going on after the {} that are there", source_.text, human_bytes(*keep)));
  }
  return hash_existing_part();
}

Result<void> Download::hash_existing_part() {
  const Result<std::unique_ptr<store::ReadFile>> file = tools_.disk.open_read(part_path());
  if (!file) return file.error();
  std::vector<char> buffer(kReadBytes);
  for (uint64_t at = 0; at < bytes_;) {
    const Result<size_t> read = (*file)->read_at(at, buffer.data(), buffer.size());
    if (!read) return read.error();
    if (*read == 0) return about(ErrorKind::kIo, "the part that is there changed");
    hash_.add(std::string_view(buffer.data(), *read));
    at += *read;
  }
  return {};
}

Result<void> Download::restart() {
  if (const Result<void> cut = part_->truncate(0); !cut) return cut;
  hash_ = Sha256();
  bytes_ = 0;
  bytes_before_ = 0;
  bytes_synced_ = 0;
  return {};
}

// A file that cannot be removed is overwritten by the next download.
void Download::discard_part() {
  part_.reset();
  (void)tools_.disk.remove(part_path());
  (void)tools_.disk.remove(state_path());
}

Result<void> Download::write_state(uint64_t bytes_synced) {
  bytes_synced_ = bytes_synced;
  return tools_.disk.write_atomically(
      state_path(), to_json(PartState{.of = remote_, .bytes_synced = bytes_synced}));
}

// --- what comes, on the client's loop -----------------------------------------------------------

bool Download::take(const http::ReplyHead& head, std::string_view bytes) {
  if (!begun_) {
    begun_ = true;
    const Result<void> good = begin(head);
    if (!good) broken_ = good.error();
  }
  if (!broken_ && !mismatch_) {
    const Result<void> written = write(bytes);
    if (!written) broken_ = written.error();
  }
  return !broken_ && !mismatch_;
}

Result<void> Download::begin(const http::ReplyHead& head) {
  RemoteFile now;
  add_file_facts(head.headers, now);
  if (head.status == 206) {
    const auto range = parse_content_range(head.headers.get("content-range").value_or(""));
    mismatch_ = !range || range->first != bytes_ ||
                (range->total && remote_.bytes && *range->total != *remote_.bytes);
    if (mismatch_) return {};
    if (range->total) remote_.bytes = range->total;
    bytes_in_all_ = remote_.bytes.value_or(0);
    return {};
  }
  // The whole file: nothing was there, or the server does not go on in the middle, or it has
  // another one by now.
  restarted_ = bytes_ > 0;
  if (restarted_) {
    if (const Result<void> empty = restart(); !empty) return empty;
  }
  if (now.bytes && remote_.bytes && *now.bytes != *remote_.bytes && !remote_.sha256.empty()) {
    return about(ErrorKind::kUnavailable,
                 fmt::format("it should have {} bytes, but {} are sent; try again later",
                             *remote_.bytes, *now.bytes));
  }
  if (now.bytes) remote_.bytes = now.bytes;
  remote_.etag = now.etag;
  bytes_in_all_ = remote_.bytes.value_or(0);
  return write_state(0);
}

Result<void> Download::write(std::string_view bytes) {
  const uint64_t at = bytes_;
  if (at < kMagic.size()) {
    const std::string_view wanted = kMagic.substr(at);
    const size_t common = std::min(wanted.size(), bytes.size());
    if (bytes.substr(0, common) != wanted.substr(0, common)) {
      return about(ErrorKind::kInvalid,
                   bytes.starts_with('<')
                       ? "what is there is a web page and no model; name the file itself"
                       : "what is there is no GGUF file; other formats must be converted first");
    }
  }
  if (remote_.bytes && at + bytes.size() > *remote_.bytes)
    return about(ErrorKind::kUnavailable, "more is sent than the file has; try again later");
  if (const Result<void> appended = part_->append(bytes); !appended) return appended;
  hash_.add(bytes);
  bytes_ = at + bytes.size();
  if (remote_.sha256.empty() && bytes_ - bytes_synced_ >= kSyncBytes) {
    if (const Result<void> synced = part_->sync(); !synced) return synced;
    return write_state(bytes_);
  }
  return {};
}

// --- the whole ----------------------------------------------------------------------------------

Result<Download::Attempt> Download::attempt() {
  http::Headers headers;
  if (bytes_ > 0) {
    headers.add("Range", fmt::format("bytes={}-", bytes_.load()));
    // Without one the hash tells at the end whether both halves are of one file.
    if (!remote_.etag.empty()) headers.add("If-Range", remote_.etag);
  }
  begun_ = false;
  mismatch_ = false;
  restarted_ = false;
  const Outcome outcome = call(
      http::Method::kGet, headers,
      [this](const http::ReplyHead& head, std::string_view bytes) { return take(head, bytes); });
  if (broken_) {
    if (broken_->kind != ErrorKind::kDiskFull) return *broken_;
    return Error{broken_->kind, fmt::format("{}; make room, or set XDG_CACHE_HOME to a folder with "
                                            "more: what is there is kept",
                                            broken_->message)};
  }
  if (outcome.error) return *outcome.error;
  if (restarted_ && tools_.events.on_note) {
    tools_.events.on_note(fmt::format(
        "{}: the server began with the first byte again: it cannot do otherwise, or has another "
        "file by now",
        source_.text));
  }
  const bool no_such_range = !outcome.failure && outcome.head.status == 416;
  if (mismatch_ || (no_such_range && bytes_ > 0)) {
    if (const Result<void> empty = restart(); !empty) return empty.error();
    return Attempt::kAgain;
  }
  if (outcome.failure) {
    if (!is_passing(outcome.failure->kind, begun_ || bytes_ > bytes_before_))
      return about(ErrorKind::kUnavailable, outcome.failure->message);
    broken_ = about(ErrorKind::kUnavailable,
                    fmt::format("{}; what is there is kept, and the same command goes on",
                                outcome.failure->message));
    return Attempt::kAgain;
  }
  if (!is_success(outcome.head.status)) {
    Error error = status_error(source_, outcome.head, outcome.from, !tools_.token.empty());
    if (!worth_another_try(outcome.head.status)) return error;
    broken_ = std::move(error);
    return Attempt::kAgain;
  }
  if (remote_.bytes && bytes_ < *remote_.bytes) {
    broken_ = about(ErrorKind::kUnavailable, "the server ends before the file does");
    return Attempt::kAgain;
  }
  return Attempt::kComplete;
}

Result<void> Download::run(RemoteFile remote) {
  remote_ = std::move(remote);
  if (const Result<void> opened = open_part(); !opened) return opened;
  int fruitless = 0;
  while (!remote_.bytes || bytes_ < *remote_.bytes) {
    const uint64_t before = bytes_;
    broken_.reset();
    const Result<Attempt> attempted = attempt();
    if (!attempted) {
      // The wrong file is not kept.
      if (attempted.error().kind == ErrorKind::kInvalid) discard_part();
      return attempted.error();
    }
    if (*attempted == Attempt::kComplete) break;
    // Bytes that cannot be identified later are not kept.
    if (remote_.sha256.empty() && remote_.etag.empty() && bytes_ > 0) {
      if (const Result<void> empty = restart(); !empty) return empty;
    }
    fruitless = bytes_ > before ? 1 : fruitless + 1;
    if (fruitless >= kFruitlessMax) {
      return broken_ ? *broken_
                     : about(ErrorKind::kUnavailable, "the server does not give the file out");
    }
    tools_.wait(wait_before(fruitless - 1));
  }
  return finish();
}

Result<void> Download::finish() {
  report_progress();
  if (bytes_ < kMagic.size()) {
    discard_part();
    return about(ErrorKind::kInvalid, "what is there is empty, and no model");
  }
  const std::string hash = hash_.finish();
  const std::string& stated = source_.sha256.empty() ? remote_.sha256 : source_.sha256;
  if (!stated.empty() && hash != stated) {
    discard_part();
    return about(
        ErrorKind::kUnavailable,
        fmt::format("what arrived is another file: its SHA-256 is {}, not {} as {}. It was "
                    "deleted; try again, and if that ends alike, {}",
                    hash, stated, source_.sha256.empty() ? "the hub states" : "#sha256= says",
                    source_.sha256.empty() ? "something on the way changes files"
                                           : "ask where the hash comes from"));
  }
  if (stated.empty() && tools_.events.on_note) {
    tools_.events.on_note(fmt::format(
        "{}: nobody stated its hash; it is #sha256={}, which behind the URL checks it next time",
        source_.text, hash));
  }
  if (const Result<void> synced = part_->sync(); !synced) return synced;
  part_.reset();
  const PartState whole{.of = {.bytes = bytes_, .sha256 = hash, .etag = remote_.etag},
                        .bytes_synced = bytes_};
  const std::string record = path_ + ".json";
  if (const Result<void> written = tools_.disk.write_atomically(record, to_json(whole)); !written)
    return written;
  if (const Result<void> named = tools_.disk.rename(part_path(), path_); !named) return named;
  (void)tools_.disk.remove(state_path());
  return tools_.disk.sync_folder_of(path_);
}

}  // namespace windrow::model_store
