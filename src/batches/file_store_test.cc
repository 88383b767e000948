#include "batches/file_store.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/testing/manual_clock.h"
#include "store/posix_disk.h"
#include "store/testing/faulty_disk.h"
#include "store/testing/temporary_folder.h"

namespace windrow::batches {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;

const Viewer kAlice{.key = "alice"};
const Viewer kBob{.key = "bob"};
const Viewer kAdmin{.key = "root", .sees_all = true};

class FileStoreTest : public ::testing::Test {
 protected:
  FileStoreTest() { open(); }

  void open(FileLimits limits = {.file_bytes_max = 1000}) {
    files.reset();
    data.reset();
    std::vector<std::string> warnings;
    auto opened = DataDir::open(folder.path(), warnings);
    ASSERT_TRUE(opened) << opened.error().message;
    data = *std::move(opened);
    auto store = FileStore::open(*data, disk, clock, limits);
    ASSERT_TRUE(store) << store.error().message;
    files = *std::move(store);
  }

  Reply<StoredFile> try_upload(std::string_view bytes,
                               UploadForm form = {.filename = "a.jsonl", .purpose = "batch"},
                               const Viewer& owner = kAlice) {
    auto begun = files->begin_upload();
    if (auto* failure = std::get_if<llm::Failure>(&begun)) return *failure;
    auto& upload = *std::get<std::unique_ptr<FileStore::Upload>>(begun);
    auto appended = upload.append(bytes);
    if (auto* failure = std::get_if<llm::Failure>(&appended)) return *failure;
    return upload.finish(owner, form);
  }

  StoredFile upload(std::string_view bytes, const Viewer& owner = kAlice) {
    return std::get<StoredFile>(
        try_upload(bytes, {.filename = "a.jsonl", .purpose = "batch"}, owner));
  }

  std::string content(const Viewer& viewer, const std::string& id) {
    auto opened = files->open_content(viewer, id);
    if (const auto* failure = std::get_if<llm::Failure>(&opened)) return failure->code;
    auto& found = std::get<FileContent>(opened);
    std::string bytes(static_cast<size_t>(found.file.bytes), '\0');
    EXPECT_EQ(found.bytes->read_at(0, bytes.data(), bytes.size()).value(), bytes.size());
    return bytes;
  }

  std::vector<std::string> list(const Viewer& viewer, const FileQuery& query = {}) {
    std::vector<std::string> ids;
    auto found = files->list(viewer, query);
    if (const auto* failure = std::get_if<llm::Failure>(&found)) return {failure->param};
    for (const StoredFile& file : std::get<FilePage>(found).files)
      ids.push_back(file.id);
    return ids;
  }

  std::string code(const Reply<std::monostate>& reply) {
    const auto* failure = std::get_if<llm::Failure>(&reply);
    return failure == nullptr ? "" : failure->code;
  }

  // What lies in the folder of uploads.
  std::set<std::string> on_disk() const {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder / "files"))
      names.insert(entry.path().filename().string());
    return names;
  }

  const store::testing::TemporaryFolder folder;
  store::PosixDisk posix;
  store::testing::FaultyDisk disk{posix};
  testing::ManualClock clock;
  std::unique_ptr<DataDir> data;
  std::unique_ptr<FileStore> files;
};

TEST_F(FileStoreTest, AnUploadIsAFileForItsKey) {
  const StoredFile file = upload("some bytes");
  EXPECT_TRUE(file.id.starts_with("file-"));
  EXPECT_EQ(file.bytes, 10);
  EXPECT_EQ(file.filename, "a.jsonl");
  EXPECT_EQ(file.purpose, "batch");
  EXPECT_EQ(file.created_at, clock.unix_seconds());
  EXPECT_FALSE(file.expires_at);
  open();  // it is there after a restart
  EXPECT_EQ(std::get<StoredFile>(files->get(kAlice, file.id)), file);
  EXPECT_EQ(std::get<StoredFile>(files->get(kAdmin, file.id)), file);
  EXPECT_EQ(std::get<llm::Failure>(files->get(kBob, file.id)).status, 404);
  EXPECT_EQ(content(kAlice, file.id), "some bytes");
  EXPECT_EQ(content(kBob, file.id), "file_not_found");
  EXPECT_EQ(files->totals().files, 1);
  EXPECT_EQ(files->totals().bytes, 10);

  EXPECT_EQ(code(files->remove(kBob, file.id)), "file_not_found");
  EXPECT_EQ(code(files->remove(kAlice, file.id)), "");
  EXPECT_EQ(code(files->remove(kAlice, file.id)), "file_not_found");
  EXPECT_TRUE(on_disk().empty());
  EXPECT_EQ(files->totals().bytes, 0);
}

TEST_F(FileStoreTest, WhatIsNotFinishedLeavesNothing) {
  {
    auto begun = files->begin_upload();
    auto& upload = *std::get<std::unique_ptr<FileStore::Upload>>(begun);
    EXPECT_EQ(code(upload.append("half")), "");
    EXPECT_EQ(on_disk().size(), 1U);
    EXPECT_EQ(files->totals().bytes, 4);
  }
  EXPECT_TRUE(on_disk().empty());
  EXPECT_EQ(files->totals().bytes, 0);
  EXPECT_TRUE(list(kAdmin).empty());
}

TEST_F(FileStoreTest, FormsThatCannotBeAreRefused) {
  const auto param = [&](const UploadForm& form) {
    auto reply = try_upload("x", form);
    const auto* failure = std::get_if<llm::Failure>(&reply);
    return failure == nullptr ? "" : failure->param;
  };
  EXPECT_EQ(param({.filename = "a"}), "purpose");
  EXPECT_EQ(param({.filename = "a", .purpose = "user_data"}), "purpose");
  EXPECT_EQ(param({.purpose = "batch", .expires_seconds = "3600"}), "expires_after.anchor");
  EXPECT_EQ(param({.purpose = "batch", .expires_anchor = "created_at"}), "expires_after.seconds");
  for (const char* wrong : {"", "3599", "2592001", "1e4", "4000x"}) {
    EXPECT_EQ(param({.purpose = "batch", .expires_anchor = "created_at", .expires_seconds = wrong}),
              "expires_after.seconds");
  }
  EXPECT_EQ(std::get<llm::Failure>(try_upload("")).param, "file");
  EXPECT_TRUE(on_disk().empty());
  const auto kept = std::get<StoredFile>(try_upload("x", {.filename = "../../etc/pass\nwd",
                                                          .purpose = "batch",
                                                          .expires_anchor = "created_at",
                                                          .expires_seconds = "3600"}));
  EXPECT_EQ(kept.filename, "passwd");
  EXPECT_EQ(kept.expires_at, kept.created_at + 3600);
}

TEST_F(FileStoreTest, LimitsOfOneAndOfAll) {
  open({.file_bytes_max = 10, .total_bytes_max = 25});
  EXPECT_EQ(std::get<llm::Failure>(try_upload("eleven byte")).status, 413);
  const StoredFile first = upload("0123456789");
  upload("0123456789");
  EXPECT_EQ(std::get<llm::Failure>(try_upload("0123456789")).code, "storage_full");
  EXPECT_EQ(code(files->remove(kAlice, first.id)), "");
  upload("0123456789");
  open({.file_bytes_max = 10, .total_bytes_max = 25});
  EXPECT_EQ(std::get<llm::Failure>(try_upload("0123456789")).code, "storage_full");
}

TEST_F(FileStoreTest, ListsWithCursorsInBothOrders) {
  std::vector<std::string> mine;
  for (int i = 0; i < 5; ++i) {
    mine.push_back(upload("x").id);
    upload("y", kBob);
  }
  const std::vector<std::string> newest(mine.rbegin(), mine.rend());
  EXPECT_EQ(list(kAlice), newest);
  EXPECT_EQ(list(kAlice, {.ascending = true}), mine);
  EXPECT_EQ(list(kAdmin).size(), 10U);
  EXPECT_EQ(list(kAlice, {.purpose = "batch_output"}).size(), 0U);
  EXPECT_EQ(list(kAlice, {.purpose = "batch"}).size(), 5U);

  for (const bool ascending : {false, true}) {
    std::vector<std::string> all;
    FileQuery query{.limit = 2, .ascending = ascending};
    for (bool more = true; more;) {
      const auto page = std::get<FilePage>(files->list(kAlice, query));
      for (const StoredFile& file : page.files)
        all.push_back(file.id);
      more = page.has_more;
      query.after = all.back();
    }
    EXPECT_EQ(all, ascending ? mine : newest);
  }
  EXPECT_EQ(list(kAlice, {.limit = 0}), std::vector<std::string>{"limit"});
  EXPECT_EQ(list(kAlice, {.limit = 10'001}), std::vector<std::string>{"limit"});
  EXPECT_EQ(list(kBob, {.after = mine[0]}), std::vector<std::string>{"after"});
}

TEST_F(FileStoreTest, AnExpiredFileIsGone) {
  const auto kept = std::get<StoredFile>(try_upload(
      "x", {.purpose = "batch", .expires_anchor = "created_at", .expires_seconds = "3600"}));
  upload("stays");
  clock.advance(seconds(3599));
  EXPECT_EQ(list(kAlice).size(), 2U);
  EXPECT_EQ(files->remove_expired().value(), 0);
  clock.advance(seconds(1));
  EXPECT_EQ(list(kAlice).size(), 1U);
  EXPECT_EQ(content(kAlice, kept.id), "file_not_found");
  EXPECT_EQ(on_disk().size(), 2U);
  EXPECT_EQ(files->remove_expired().value(), 1);
  EXPECT_EQ(on_disk().size(), 1U);
}

TEST_F(FileStoreTest, BytesThatWereRemovedAreMissedByName) {
  const StoredFile file = upload("some bytes");
  fs::resize_file(folder / file.path, 3);
  EXPECT_EQ(content(kAlice, file.id), "file_bytes_missing");
  fs::remove(folder / file.path);
  EXPECT_EQ(content(kAlice, file.id), "file_bytes_missing");
  EXPECT_EQ(code(files->remove(kAlice, file.id)), "");
}

TEST_F(FileStoreTest, AFullDiskIsSaidAndLeavesNothing) {
  disk.set_faults({.bytes_until_full = 5});
  EXPECT_EQ(std::get<llm::Failure>(try_upload("more than that")).status, 507);
  disk.set_faults({.syncs_until_failure = 0});
  EXPECT_EQ(std::get<llm::Failure>(try_upload("x")).status, 500);
  disk.set_faults({});
  EXPECT_TRUE(on_disk().empty());
  EXPECT_EQ(files->totals().bytes, 0);
  upload("x");
}

// The process dies after every operation on the disk: afterwards each file that is listed is whole,
// and the folder has no file that the database does not know.
TEST_F(FileStoreTest, AfterAnyDeathFilesAreWholeOrNotThere) {
  bool reached = false;
  for (int64_t operations = 0; !reached && operations < 50; ++operations) {
    store::testing::FaultyDisk mortal(posix, {.operations_until_death = operations});
    files = *FileStore::open(*data, mortal, clock, {.file_bytes_max = 1000});
    const auto reply = try_upload("all of it");
    reached = std::holds_alternative<StoredFile>(reply);
    files.reset();  // its cleaning up fails, as it would not happen
    open();
    const std::vector<std::string> ids = list(kAdmin);
    for (const std::string& id : ids)
      EXPECT_EQ(content(kAdmin, id), "all of it") << "after " << operations;
    EXPECT_EQ(on_disk(), std::set<std::string>(ids.begin(), ids.end())) << "after " << operations;
  }
  EXPECT_TRUE(reached);
}

TEST_F(FileStoreTest, AFileOfAnUnfinishedBatchStays) {
  const StoredFile file = upload("x");
  ASSERT_TRUE(data->database().change(
      "INSERT INTO batches (id, owner, input_file_id, status, record) VALUES ('b', '', ?, "
      "'in_progress', '')",
      {file.id}));
  EXPECT_EQ(code(files->remove(kAlice, file.id)), "file_in_use");
  EXPECT_EQ(content(kAlice, file.id), "x");
  ASSERT_TRUE(data->database().change("UPDATE batches SET status = 'completed'"));
  EXPECT_EQ(code(files->remove(kAlice, file.id)), "");
}

TEST_F(FileStoreTest, ADamagedDatabaseIsPutAsideAndTheRestServes) {
  upload("x");
  files.reset();
  data.reset();
  for (const char* ending : {"-wal", "-shm"})
    fs::remove(folder / (std::string("windrow.db") + ending));
  std::ofstream(folder / "windrow.db") << std::string(9000, 'x');
  std::vector<std::string> warnings;
  auto opened = DataDir::open(folder.path(), warnings);
  ASSERT_TRUE(opened) << opened.error().message;
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_NE(warnings[0].find("windrow.db.damaged-1"), std::string::npos);
  EXPECT_EQ(on_disk().size(), 1U);  // the bytes stay
  opened->reset();
  open();
  upload("y");
  EXPECT_EQ(list(kAdmin).size(), 1U);
}

}  // namespace
}  // namespace windrow::batches
