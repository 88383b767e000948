#include "batches/file_store.h"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <system_error>
#include <utility>
#include <variant>

#include "base/format.h"
#include "base/utf8.h"
#include "batches/batch_json.h"

namespace windrow::batches {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFileColumns =
    "id, owner, filename, purpose, bytes, created_at, expires_at, place";

constexpr std::string_view kUnfinished =
    "status IN ('validating', 'in_progress', 'finalizing', 'cancelling')";

constexpr int64_t kListMax = 10'000;
constexpr size_t kNameBytesMax = 255;

StoredFile file_of(const store::DatabaseRow& row) {
  return {.id = row.text(0),
          .owner = row.text(1),
          .filename = row.text(2),
          .purpose = row.text(3),
          .bytes = row.number(4),
          .created_at = row.number(5),
          .expires_at = row.number_or_none(6),
          .path = row.text(7)};
}

// A client's file name without folders and control characters, and not too long.
std::string name_of(std::string_view given) {
  const size_t slash = given.find_last_of("/\\");
  std::string name = utf8_repair(slash == std::string_view::npos ? given : given.substr(slash + 1));
  std::erase_if(name, [](char byte) { return static_cast<unsigned char>(byte) < 0x20; });
  if (name.size() > kNameBytesMax) name = utf8_repair(name.substr(0, kNameBytesMax - 2));
  return name.empty() ? "upload" : name;
}

llm::Failure too_large(int64_t bytes_max) {
  return {.failure_class = llm::FailureClass::kRequest,
          .status = 413,
          .code = "file_too_large",
          .message = fmt::format("the file is larger than {}, the limit of this server; split it, "
                                 "or ask the operator to raise --max-file-mb",
                                 human_bytes(static_cast<uint64_t>(bytes_max))),
          .param = "file"};
}

llm::Failure no_room(int64_t bytes_max) {
  return {.failure_class = llm::FailureClass::kRequest,
          .status = 507,
          .code = "storage_full",
          .message = fmt::format("all files together would be larger than {}, the limit of this "
                                 "server; delete some, or ask the operator to raise "
                                 "--max-files-mb",
                                 human_bytes(static_cast<uint64_t>(bytes_max))),
          .param = "file"};
}

// Nullopt if the form is valid; `kept_s` is how long the file is kept.
std::optional<llm::Failure> check(const UploadForm& form, std::optional<int64_t>& kept_s) {
  if (form.purpose.empty()) {
    return invalid("the form has no field \"purpose\"; it must be \"batch\"", "purpose");
  }
  if (form.purpose != "batch") {
    return invalid(
        fmt::format("purpose is \"{}\"; this server keeps files only for batches: it must be "
                    "\"batch\"",
                    utf8_repair(form.purpose.substr(0, 80))),
        "purpose");
  }
  if (!form.expires_anchor && !form.expires_seconds) return std::nullopt;
  if (form.expires_anchor != "created_at")
    return invalid("expires_after[anchor] must be \"created_at\"", "expires_after.anchor");
  const std::string seconds = form.expires_seconds.value_or("");
  int64_t value = 0;
  const auto [end, error] = std::from_chars(seconds.data(), seconds.data() + seconds.size(), value);
  if (error != std::errc() || end != seconds.data() + seconds.size() || value < kKeptSecondsMin ||
      value > kKeptSecondsMax) {
    return invalid(fmt::format("expires_after[seconds] must be a number from {} to {}",
                               kKeptSecondsMin, kKeptSecondsMax),
                   "expires_after.seconds");
  }
  kept_s = value;
  return std::nullopt;
}

}  // namespace

FileStore::FileStore(DataDir& data, store::Disk& disk, const Clock& clock, FileLimits limits)
    : data_(data), disk_(disk), clock_(clock), limits_(limits) {}

Result<std::unique_ptr<FileStore>> FileStore::open(DataDir& data, store::Disk& disk,
                                                   const Clock& clock, FileLimits limits) {
  auto files = std::unique_ptr<FileStore>(new FileStore(data, disk, clock, limits));
  if (Result<void> ended = files->recover_uploads(); !ended) return ended.error();
  const Result<void> summed =
      data.database().ask("SELECT COUNT(*), COALESCE(SUM(bytes), 0) FROM files", {},
                          [&](const store::DatabaseRow& row) {
                            files->total_files_ = row.number(0);
                            files->total_bytes_ = row.number(1);
                          });
  if (!summed) return summed.error();
  return files;
}

// An upload is synced, then its row is written, then it is renamed: if it has a row, only the
// renaming is missing.
Result<void> FileStore::recover_uploads() {
  std::vector<std::string> parts;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(data_.at("files"), error)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(kPartEnding)) parts.push_back(name);
  }
  if (error) {
    return Error{ErrorKind::kIo,
                 fmt::format("cannot read the folder {}: {}", data_.at("files"), error.message())};
  }
  for (const std::string& part : parts) {
    const std::string id = part.substr(0, part.size() - kPartEnding.size());
    const Result<std::optional<StoredFile>> file = find(id);
    if (!file) return file.error();
    const std::string path = data_.at(file_path(part));
    const Result<void> done = *file && !disk_.exists(data_.at((*file)->path))
                                  ? disk_.rename(path, data_.at((*file)->path))
                                  : disk_.remove(path);
    if (!done) return done;
  }
  return {};
}

bool FileStore::reserve(int64_t bytes) {
  const std::scoped_lock lock(mutex_);
  if (limits_.total_bytes_max > 0 && total_bytes_ + bytes > limits_.total_bytes_max) return false;
  total_bytes_ += bytes;
  return true;
}

void FileStore::release(int64_t bytes) {
  const std::scoped_lock lock(mutex_);
  total_bytes_ -= bytes;
}

// --- uploads -----------------------------------------------------------------------------------

FileStore::Upload::Upload(FileStore& store, std::string id, std::unique_ptr<store::AppendFile> file)
    : store_(store), id_(std::move(id)), file_(std::move(file)) {}

FileStore::Upload::~Upload() {
  if (!file_) return;
  file_.reset();
  // If it cannot be removed now, the next start removes it.
  (void)store_.disk_.remove(store_.data_.at(file_path(id_ + std::string(kPartEnding))));
  store_.release(bytes_);
}

Reply<std::unique_ptr<FileStore::Upload>> FileStore::begin_upload() {
  std::string id = new_file_id();
  Result<std::unique_ptr<store::AppendFile>> file =
      disk_.open_append(data_.at(file_path(id + std::string(kPartEnding))));
  if (!file) return data_.report(file.error());
  return std::unique_ptr<Upload>(new Upload(*this, std::move(id), *std::move(file)));
}

std::optional<llm::Failure> FileStore::refuse_bytes(int64_t bytes) const {
  if (bytes > limits_.file_bytes_max) return too_large(limits_.file_bytes_max);
  const std::scoped_lock lock(mutex_);
  if (bytes > 0 && limits_.total_bytes_max > 0 && total_bytes_ + bytes > limits_.total_bytes_max)
    return no_room(limits_.total_bytes_max);
  return std::nullopt;
}

Reply<std::monostate> FileStore::Upload::append(std::string_view bytes) {
  const auto size = static_cast<int64_t>(bytes.size());
  if (bytes_ + size > store_.limits_.file_bytes_max)
    return too_large(store_.limits_.file_bytes_max);
  if (!store_.reserve(size)) return no_room(store_.limits_.total_bytes_max);
  bytes_ += size;
  if (Result<void> appended = file_->append(bytes); !appended)
    return store_.data_.report(appended.error());
  return std::monostate();
}

Reply<StoredFile> FileStore::Upload::finish(const Viewer& owner, const UploadForm& form) {
  std::optional<int64_t> kept_s;
  if (auto problem = check(form, kept_s)) return *std::move(problem);
  if (bytes_ == 0) return invalid("the file is empty; write one JSON object per line", "file");
  StoredFile file{.id = id_,
                  .owner = owner.key,
                  .filename = name_of(form.filename),
                  .purpose = form.purpose,
                  .bytes = bytes_,
                  .created_at = store_.clock_.unix_seconds(),
                  .expires_at = std::nullopt,
                  .path = file_path(id_)};
  if (kept_s) file.expires_at = file.created_at + *kept_s;
  const std::string path = store_.data_.at(file.path);
  if (Result<void> synced = file_->sync(); !synced) return store_.data_.report(synced.error());
  const std::string part = path + std::string(kPartEnding);
  if (Result<void> kept = store_.disk_.sync_folder_of(part); !kept)
    return store_.data_.report(kept.error());
  if (Result<void> inserted = store_.insert(file); !inserted)
    return store_.data_.report(inserted.error());
  // From here on it is a file even after a crash: the next start would rename it.
  file_.reset();
  store_.add_to_totals(1, 0);
  if (Result<void> named = store_.disk_.rename(part, path); !named)
    return store_.data_.report(named.error());
  (void)store_.disk_.sync_folder_of(path);
  return file;
}

// --- the rows ----------------------------------------------------------------------------------

Result<void> FileStore::insert(const StoredFile& file) {
  const Result<int64_t> inserted = data_.database().change(
      fmt::format("INSERT INTO files ({}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", kFileColumns),
      {file.id, file.owner, file.filename, file.purpose, file.bytes, file.created_at,
       store::value_of(file.expires_at), file.path});
  if (!inserted) return inserted.error();
  return {};
}

Result<std::optional<StoredFile>> FileStore::find(std::string_view id) {
  std::optional<StoredFile> found;
  const Result<void> asked = data_.database().ask(
      fmt::format("SELECT {} FROM files WHERE id = ?", kFileColumns), {std::string(id)},
      [&](const store::DatabaseRow& row) { found = file_of(row); });
  if (!asked) return asked.error();
  return found;
}

Reply<StoredFile> FileStore::get(const Viewer& viewer, std::string_view id) {
  Result<std::optional<StoredFile>> file = find(id);
  if (!file) return data_.report(file.error());
  const bool over = *file && (*file)->expires_at && *(*file)->expires_at <= clock_.unix_seconds();
  if (!*file || over || !viewer.sees((*file)->owner)) return not_found("file", id);
  return **std::move(file);
}

Reply<FilePage> FileStore::list(const Viewer& viewer, const FileQuery& query) {
  if (query.limit < 1 || query.limit > kListMax) {
    return invalid(fmt::format("limit must be a number from 1 to {}", kListMax), "limit");
  }
  std::string sql = fmt::format("SELECT {} FROM files WHERE (expires_at IS NULL OR expires_at > ?)",
                                kFileColumns);
  std::vector<store::Value> values = {clock_.unix_seconds()};
  if (!viewer.sees_all) {
    sql += " AND owner = ?";
    values.emplace_back(viewer.key);
  }
  if (!query.purpose.empty()) {
    sql += " AND purpose = ?";
    values.emplace_back(query.purpose);
  }
  if (!query.after.empty()) {
    std::optional<int64_t> number;
    const Result<void> asked =
        data_.database().ask("SELECT number, owner FROM files WHERE id = ?", {query.after},
                             [&](const store::DatabaseRow& row) {
                               if (viewer.sees(row.text(1))) number = row.number(0);
                             });
    if (!asked) return data_.report(asked.error());
    if (!number)
      return invalid(fmt::format("there is no file {}", query.after.substr(0, 80)), "after");
    sql += query.ascending ? " AND number > ?" : " AND number < ?";
    values.emplace_back(*number);
  }
  sql += query.ascending ? " ORDER BY number LIMIT ?" : " ORDER BY number DESC LIMIT ?";
  values.emplace_back(query.limit + 1);
  FilePage page;
  const Result<void> asked = data_.database().ask(
      sql, std::span<const store::Value>(values),
      [&](const store::DatabaseRow& row) { page.files.push_back(file_of(row)); });
  if (!asked) return data_.report(asked.error());
  page.has_more = static_cast<int64_t>(page.files.size()) > query.limit;
  if (page.has_more) page.files.pop_back();
  return page;
}

Reply<FileContent> FileStore::open_content(const Viewer& viewer, std::string_view id) {
  Reply<StoredFile> file = get(viewer, id);
  if (auto* failure = std::get_if<llm::Failure>(&file)) return std::move(*failure);
  return open_bytes(std::get<StoredFile>(std::move(file)));
}

Reply<FileContent> FileStore::open_input(std::string_view id) {
  Result<std::optional<StoredFile>> file = find(id);
  if (!file) return data_.report(file.error());
  if (!*file) return not_found("file", id);
  return open_bytes(**std::move(file));
}

Reply<FileContent> FileStore::open_bytes(StoredFile found) {
  Result<std::unique_ptr<store::ReadFile>> bytes = disk_.open_read(data_.at(found.path));
  if (!bytes && bytes.error().kind != ErrorKind::kNotFound) return data_.report(bytes.error());
  const Result<uint64_t> size = bytes ? (*bytes)->size() : Result<uint64_t>(uint64_t{0});
  if (!size) return data_.report(size.error());
  if (!bytes || static_cast<int64_t>(*size) < found.bytes) {
    return llm::Failure{
        .failure_class = llm::FailureClass::kRequest,
        .status = 404,
        .code = "file_bytes_missing",
        .message = fmt::format("the bytes of {} are not where the server left them; "
                               "delete it and upload it again",
                               found.id)};
  }
  return FileContent{.file = std::move(found), .bytes = *std::move(bytes)};
}

// --- deleting ----------------------------------------------------------------------------------

Result<bool> FileStore::is_in_use(std::string_view id) {
  bool in_use = false;
  const Result<void> asked = data_.database().ask(
      fmt::format("SELECT 1 FROM batches WHERE input_file_id = ? AND {} LIMIT 1", kUnfinished),
      {std::string(id)}, [&](const store::DatabaseRow&) { in_use = true; });
  if (!asked) return asked.error();
  return in_use;
}

// The bytes first: a row without bytes can be deleted again, bytes without a row cannot. False if
// the file was deleted already.
Result<bool> FileStore::delete_file(const StoredFile& file) {
  const std::string path = data_.at(file.path);
  if (Result<void> removed = disk_.remove(path);
      !removed && removed.error().kind != ErrorKind::kNotFound)
    return removed.error();
  const Result<int64_t> gone = data_.database().change("DELETE FROM files WHERE id = ?", {file.id});
  if (!gone) return gone.error();
  if (file.purpose != "batch_output") return *gone > 0;

  // The last file of a batch takes the folder along, where only the job's own record is left.
  const fs::path folder = fs::path(file.path).parent_path();
  bool others = false;
  const Result<void> asked = data_.database().ask(
      "SELECT 1 FROM files WHERE substr(place, 1, length(?1)) = ?1 LIMIT 1",
      {folder.string() + "/"}, [&](const store::DatabaseRow&) { others = true; });
  if (!asked) return asked.error();
  std::error_code ignored;
  if (!others) fs::remove_all(data_.at(folder.string()), ignored);
  return *gone > 0;
}

// False if an unfinished batch reads it.
Result<bool> FileStore::delete_unless_used(const StoredFile& file) {
  bool used = false;
  bool gone = false;
  const Result<void> done = data_.database().transaction([&]() -> Result<void> {
    const Result<bool> in_use = is_in_use(file.id);
    if (!in_use) return in_use.error();
    used = *in_use;
    if (used) return {};
    const Result<bool> taken = delete_file(file);
    if (!taken) return taken.error();
    gone = *taken;
    return {};
  });
  if (!done) return done.error();
  if (gone) add_to_totals(-1, -file.bytes);
  return !used;
}

Reply<std::monostate> FileStore::remove(const Viewer& viewer, std::string_view id) {
  Reply<StoredFile> file = get(viewer, id);
  if (auto* failure = std::get_if<llm::Failure>(&file)) return std::move(*failure);
  const Result<bool> removed = delete_unless_used(std::get<StoredFile>(file));
  if (!removed) return data_.report(removed.error());
  if (*removed) return std::monostate();
  return llm::Failure{
      .failure_class = llm::FailureClass::kRequest,
      .status = 400,
      .code = "file_in_use",
      .message = fmt::format("a batch that has not ended reads {}; cancel that batch first", id)};
}

Result<int64_t> FileStore::remove_expired() {
  std::vector<StoredFile> over;
  const Result<void> asked = data_.database().ask(
      fmt::format("SELECT {} FROM files WHERE expires_at IS NOT NULL AND expires_at <= ? AND NOT "
                  "EXISTS (SELECT 1 FROM batches WHERE input_file_id = files.id AND {}) LIMIT 1000",
                  kFileColumns, kUnfinished),
      {clock_.unix_seconds()},
      [&](const store::DatabaseRow& row) { over.push_back(file_of(row)); });
  if (!asked) return asked.error();
  int64_t gone = 0;
  for (const StoredFile& file : over) {
    const Result<bool> removed = delete_unless_used(file);
    if (!removed) return removed.error();
    gone += *removed ? 1 : 0;
  }
  return gone;
}

// --- for batches -------------------------------------------------------------------------------

Result<StoredFile> FileStore::add_output(const std::string& owner, const std::string& filename,
                                         const std::string& path, int64_t bytes,
                                         std::optional<int64_t> kept_s) {
  StoredFile file{.id = new_file_id(),
                  .owner = owner,
                  .filename = filename,
                  .purpose = "batch_output",
                  .bytes = bytes,
                  .created_at = clock_.unix_seconds(),
                  .expires_at = std::nullopt,
                  .path = path};
  if (kept_s) file.expires_at = file.created_at + *kept_s;
  if (Result<void> inserted = insert(file); !inserted) return inserted.error();
  return file;
}

void FileStore::add_to_totals(int64_t files, int64_t bytes) {
  const std::scoped_lock lock(mutex_);
  total_files_ += files;
  total_bytes_ += bytes;
}

FileTotals FileStore::totals() const {
  const std::scoped_lock lock(mutex_);
  return {.files = total_files_, .bytes = total_bytes_};
}

}  // namespace windrow::batches
