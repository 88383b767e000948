#include "store/database.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/random.h"
#include "store/testing/temporary_folder.h"

namespace windrow::store {
namespace {

using testing::TemporaryFolder;

constexpr std::array<std::string_view, 2> kVersions = {
    "CREATE TABLE things (id INTEGER PRIMARY KEY, name TEXT UNIQUE, size INTEGER);",
    "ALTER TABLE things ADD COLUMN note TEXT; CREATE INDEX by_size ON things (size);"};

std::unique_ptr<Database> opened(const std::string& path) {
  Result<std::unique_ptr<Database>> database = Database::open(path, kVersions);
  EXPECT_TRUE(database) << database.error().message;
  return *std::move(database);
}

std::vector<std::string> names(Database& database) {
  std::vector<std::string> names;
  EXPECT_TRUE(database.ask("SELECT name FROM things ORDER BY id", {},
                           [&](const DatabaseRow& row) { names.push_back(row.text(0)); }));
  return names;
}

Result<void> insert_thing(Database& database, const std::string& name) {
  const Result<int64_t> done = database.change("INSERT INTO things (name) VALUES (?)", {name});
  if (!done) return done.error();
  return {};
}

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

TEST(Database, KeepsWhatItIsTold) {
  const TemporaryFolder folder;
  {
    const auto database = opened(folder / "a.db");
    EXPECT_EQ(database
                  ->change("INSERT INTO things (name, size) VALUES (?, ?)",
                           {std::string("it's \"one\""), int64_t{1} << 40})
                  .value(),
              1);
    EXPECT_EQ(database
                  ->change("INSERT INTO things (name, size, note) VALUES (?, ?, ?)",
                           {std::string("two"), value_of(std::optional<int64_t>()),
                            value_of(std::optional<std::string>("n\xC3\xB6te"))})
                  .value(),
              1);
  }
  const auto database = opened(folder / "a.db");
  int rows = 0;
  ASSERT_TRUE(database->ask("SELECT name, size, note FROM things WHERE size IS ? OR name = ?",
                            {int64_t{1} << 40, std::string("two")}, [&](const DatabaseRow& row) {
                              if (++rows == 1) {
                                EXPECT_EQ(row.text(0), "it's \"one\"");
                                EXPECT_EQ(row.number(1), int64_t{1} << 40);
                                EXPECT_TRUE(row.is_null(2));
                                EXPECT_FALSE(row.text_or_none(2));
                                return;
                              }
                              EXPECT_FALSE(row.number_or_none(1));
                              EXPECT_EQ(row.text_or_none(2), "n\xC3\xB6te");
                            }));
  EXPECT_EQ(rows, 2);
  EXPECT_EQ(database->change("DELETE FROM things").value(), 2);
}

TEST(Database, ATransactionIsAllOrNothing) {
  const TemporaryFolder folder;
  const auto database = opened(folder / "a.db");
  const auto insert = [&](const std::string& name) { return insert_thing(*database, name); };
  EXPECT_TRUE(database->transaction([&] { return insert("a"); }));
  const Result<void> failed = database->transaction([&]() -> Result<void> {
    if (Result<void> done = insert("b"); !done) return done;
    return insert("a");  // there is one
  });
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().kind, ErrorKind::kConflict);
  EXPECT_EQ(names(*database), std::vector<std::string>{"a"});
  EXPECT_TRUE(database->transaction([&] { return insert("c"); }));
  EXPECT_EQ(names(*database), (std::vector<std::string>{"a", "c"}));
}

TEST(Database, FormsAreBroughtUpToDateAndLaterOnesRefused) {
  const TemporaryFolder folder;
  {
    Result<std::unique_ptr<Database>> first =
        Database::open(folder / "a.db", std::span(kVersions).first(1));
    ASSERT_TRUE(first);
    ASSERT_TRUE((*first)->change("INSERT INTO things (name) VALUES ('old')"));
    EXPECT_FALSE((*first)->change("UPDATE things SET note = 'x'"));
  }
  {
    const auto second = opened(folder / "a.db");
    EXPECT_EQ(second->change("UPDATE things SET note = 'x'").value(), 1);
    EXPECT_EQ(names(*second), std::vector<std::string>{"old"});
  }
  const Result<std::unique_ptr<Database>> earlier =
      Database::open(folder / "a.db", std::span(kVersions).first(1));
  ASSERT_FALSE(earlier);
  EXPECT_EQ(earlier.error().kind, ErrorKind::kConflict);
  EXPECT_NE(earlier.error().message.find("later version"), std::string::npos);
}

TEST(Database, WhatIsNoneIsNamedAndPutAside) {
  const TemporaryFolder folder;
  const std::string path = folder / "a.db";
  const std::string garbage(5000, 'x');
  write(path, garbage);
  const Result<std::unique_ptr<Database>> refused = Database::open(path, kVersions);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kInvalid);
  EXPECT_NE(refused.error().message.find(path), std::string::npos);
  EXPECT_EQ(read(path), garbage);

  Result<OpenedDatabase> begun = open_or_begin(path, kVersions);
  ASSERT_TRUE(begun) << begun.error().message;
  EXPECT_EQ(begun->put_aside, path + ".damaged-1");
  EXPECT_EQ(read(begun->put_aside), garbage);
  EXPECT_TRUE(names(*begun->database).empty());
  begun->database.reset();

  write(path, garbage);
  for (const std::string_view ending : {"-wal", "-shm"})
    std::filesystem::remove(path + std::string(ending));
  begun = open_or_begin(path, kVersions);
  ASSERT_TRUE(begun);
  EXPECT_EQ(begun->put_aside, path + ".damaged-2");
  begun->database.reset();

  begun = open_or_begin(path, kVersions);
  ASSERT_TRUE(begun);
  EXPECT_EQ(begun->put_aside, "");
}

// Bytes of its pages are overwritten: it is refused, or every row can still be read. Never does one
// of them come back as something else unnoticed that a check of the whole file would have found.
TEST(Database, DamagedPagesAreFoundWhenItIsOpened) {
  const TemporaryFolder folder;
  const std::string path = folder / "a.db";
  {
    const auto database = opened(path);
    ASSERT_TRUE(database->transaction([&]() -> Result<void> {
      for (int64_t i = 0; i < 500; ++i) {
        const Result<int64_t> done =
            database->change("INSERT INTO things (name, size) VALUES (?, ?)",
                             {"a name that is long enough to fill pages " + std::to_string(i), i});
        if (!done) return done.error();
      }
      return {};
    }));
  }
  const std::string good = read(path);
  ASSERT_GT(good.size(), 30'000U);
  constexpr uint64_t kSeed = 20'250'101;
  SCOPED_TRACE(kSeed);
  Random random(kSeed);
  int refused = 0;
  for (int round = 0; round < 20; ++round) {
    std::string bad = good;
    const size_t at = 4096 * (1 + random.below(good.size() / 4096 - 1));
    for (size_t i = 0; i < 512; ++i)
      bad[at + i] = static_cast<char>(random.below(256));
    write(path, bad);
    for (const std::string_view ending : {"-wal", "-shm"})
      std::filesystem::remove(path + std::string(ending));
    const Result<std::unique_ptr<Database>> database = Database::open(path, kVersions);
    if (database) continue;
    EXPECT_EQ(database.error().kind, ErrorKind::kInvalid) << database.error().message;
    ++refused;
  }
  EXPECT_GE(refused, 15);
}

// One bit of a name in the schema: SQLite itself finds nothing wrong with such a file, and
// statements fail later with "no such column".
TEST(Database, AWrongNameInTheSchemaIsDamage) {
  const TemporaryFolder folder;
  const std::string path = folder / "a.db";
  ASSERT_TRUE(opened(path)->change("INSERT INTO things (name) VALUES ('old')"));
  const std::string good = read(path);
  const auto with = [&](std::string_view word, std::string_view other) {
    std::string bad = good;
    const size_t at = bad.find(word);
    EXPECT_NE(at, std::string::npos) << word;
    bad.replace(at, word.size(), other);
    write(path, bad);
    for (const std::string_view ending : {"-wal", "-shm"})
      std::filesystem::remove(path + std::string(ending));
  };
  for (const auto& [word, other] :
       {std::pair("note TEXT", "nose TEXT"), std::pair("name TEXT", "nale TEXT")}) {
    with(word, other);
    const Result<std::unique_ptr<Database>> refused = Database::open(path, kVersions);
    ASSERT_FALSE(refused) << other;
    EXPECT_EQ(refused.error().kind, ErrorKind::kInvalid);
    EXPECT_NE(refused.error().message.find("damaged"), std::string::npos);
    const std::string bad = read(path);
    Result<OpenedDatabase> begun = open_or_begin(path, kVersions);
    ASSERT_TRUE(begun) << begun.error().message;
    EXPECT_EQ(read(begun->put_aside), bad);
    EXPECT_TRUE(names(*begun->database).empty());
    begun->database.reset();
  }
  // Capitals are no damage: SQLite takes both for one name.
  with("note TEXT", "Note TEXT");
  EXPECT_EQ(names(*opened(path)), std::vector<std::string>{"old"});
}

TEST(Database, AFolderThatIsNotThereIsNamed) {
  const TemporaryFolder folder;
  const Result<std::unique_ptr<Database>> database =
      Database::open(folder / "missing/a.db", kVersions);
  ASSERT_FALSE(database);
  EXPECT_EQ(database.error().kind, ErrorKind::kNotFound);
}

TEST(Database, RealNumbersAndBytesComeBackAsTheyWent) {
  const TemporaryFolder folder;
  const auto database = opened(folder / "a.db");
  ASSERT_TRUE(database->change("CREATE TABLE kinds (real REAL, bytes BLOB, none)"));
  const std::string bytes("a\0b\xFF", 4);
  const std::vector<double> reals = {0.1, -1.5, 5e-324, 1.7976931348623157e308,
                                     std::numeric_limits<double>::infinity()};
  for (const double real : reals) {
    ASSERT_TRUE(database->change("INSERT INTO kinds VALUES (?, ?, ?)",
                                 {real, Blob{bytes}, value_of(std::optional<double>())}));
  }
  ASSERT_TRUE(database->change("INSERT INTO kinds VALUES (?, ?, ?)",
                               {std::numeric_limits<double>::quiet_NaN(), Blob{}, int64_t{1}}));
  std::vector<std::optional<double>> found;
  ASSERT_TRUE(database->ask("SELECT real, bytes, none FROM kinds ORDER BY rowid", {},
                            [&](const DatabaseRow& row) {
                              found.push_back(row.real_or_none(0));
                              if (found.size() <= reals.size()) {
                                EXPECT_EQ(std::bit_cast<uint64_t>(row.real(0)),
                                          std::bit_cast<uint64_t>(reals.at(found.size() - 1)));
                                EXPECT_EQ(row.bytes(1), bytes);
                                EXPECT_FALSE(row.real_or_none(2));
                                return;
                              }
                              EXPECT_TRUE(row.is_null(0)) << "SQLite has no NaN";
                              EXPECT_FALSE(row.is_null(1)) << "no bytes are not NULL";
                              EXPECT_EQ(row.bytes(1), "");
                            }));
  EXPECT_EQ(found.size(), reals.size() + 1);
}

TEST(Database, OneTextServesManyRunsAndNestedOnes) {
  const TemporaryFolder folder;
  const auto database = opened(folder / "a.db");
  for (int64_t i = 0; i < 300; ++i) {
    ASSERT_EQ(database
                  ->change("INSERT INTO things (name, size) VALUES (?, ?)",
                           {"name " + std::to_string(i), i})
                  .value(),
              1);
  }
  // More texts than are kept prepared.
  for (int64_t i = 0; i < 300; ++i) {
    std::optional<int64_t> size;
    ASSERT_TRUE(database->ask("SELECT size FROM things WHERE id = 1 + " + std::to_string(i), {},
                              [&](const DatabaseRow& row) { size = row.number_or_none(0); }));
    EXPECT_EQ(size, i);
  }
  // A failure leaves nothing behind: neither a value nor a lock.
  EXPECT_FALSE(database->change("INSERT INTO things (name, size) VALUES (?, ?)",
                                {std::string("name 0"), int64_t{7}}));
  ASSERT_TRUE(database->change("INSERT INTO things (name, size) VALUES (?, ?)"));
  int64_t nulls = 0;
  ASSERT_TRUE(database->ask("SELECT count(*) FROM things WHERE name IS NULL AND size IS NULL", {},
                            [&](const DatabaseRow& row) { nulls = row.number(0); }));
  EXPECT_EQ(nulls, 1) << "values of an earlier run are not used again";
  // The schema changes under prepared statements.
  ASSERT_TRUE(database->change("ALTER TABLE things ADD COLUMN more TEXT DEFAULT 'x'"));
  int columns = 0;
  ASSERT_TRUE(database->ask("SELECT more FROM things WHERE id = 1", {},
                            [&](const DatabaseRow& row) { columns += row.text(0) == "x"; }));
  EXPECT_EQ(columns, 1);
}

TEST(Database, APartOfATransactionIsUndoneAlone) {
  const TemporaryFolder folder;
  const auto database = opened(folder / "a.db");
  const auto insert = [&](const std::string& name) { return insert_thing(*database, name); };
  EXPECT_FALSE(database->part_of_transaction([&] { return insert("outside"); }));
  ASSERT_TRUE(database->transaction([&]() -> Result<void> {
    EXPECT_TRUE(database->part_of_transaction([&] { return insert("a"); }));
    EXPECT_FALSE(database->part_of_transaction([&]() -> Result<void> {
      if (Result<void> done = insert("b"); !done) return done;
      return insert("a");
    }));
    EXPECT_TRUE(database->part_of_transaction([&] { return insert("c"); }));
    return {};
  }));
  EXPECT_EQ(names(*database), (std::vector<std::string>{"a", "c"}));
  EXPECT_FALSE(database->transaction([&]() -> Result<void> {
    EXPECT_TRUE(database->part_of_transaction([&] { return insert("d"); }));
    return Error{ErrorKind::kInvalid, "the whole fails"};
  }));
  EXPECT_EQ(names(*database), (std::vector<std::string>{"a", "c"}));
}

TEST(Database, AReaderSeesTheLastCommitAndWaitsForNoWriter) {
  const TemporaryFolder folder;
  const auto database = opened(folder / "a.db");
  const std::unique_ptr<DatabaseReader> reader = *database->reader();
  const auto count = [&] {
    int64_t rows = -1;
    EXPECT_TRUE(reader->ask("SELECT count(*) FROM things", {},
                            [&](const DatabaseRow& row) { rows = row.number(0); }));
    return rows;
  };
  ASSERT_TRUE(database->change("INSERT INTO things (name) VALUES ('a')"));
  EXPECT_EQ(count(), 1);
  ASSERT_TRUE(database->transaction([&]() -> Result<void> {
    EXPECT_TRUE(database->change("INSERT INTO things (name) VALUES ('b')"));
    EXPECT_EQ(count(), 1) << "the reader sees the last commit, without waiting for the writer";
    return {};
  }));
  EXPECT_EQ(count(), 2);
  ASSERT_TRUE(reader->snapshot([&]() -> Result<void> {
    EXPECT_EQ(count(), 2);
    EXPECT_TRUE(database->change("INSERT INTO things (name) VALUES ('c')"));
    EXPECT_EQ(count(), 2);
    return {};
  }));
  EXPECT_EQ(count(), 3);
  EXPECT_FALSE(reader->ask("DELETE FROM things", {}, nullptr));
  EXPECT_EQ(count(), 3);
}

// What SQLite syncs at a commit now: 2 the log, 1 nothing. It answers when it reads the statement,
// so each time the text is another one.
int64_t synchronous(Database& database) {
  static int asked = 0;
  int64_t level = -1;
  EXPECT_TRUE(database.ask("PRAGMA synchronous" + std::string(static_cast<size_t>(++asked), ' '),
                           {}, [&](const DatabaseRow& row) { level = row.number(0); }));
  return level;
}

TEST(Database, EachTransactionCanHaveADurabilityOfItsOwn) {
  const TemporaryFolder folder;
  for (const Durability usual : {Durability::kPowerLoss, Durability::kProcessCrash}) {
    const auto database = *Database::open(folder / "a.db", kVersions, {.durability = usual});
    const int64_t usual_level = usual == Durability::kPowerLoss ? 2 : 1;
    EXPECT_EQ(database->durability(), usual);
    EXPECT_EQ(synchronous(*database), usual_level);
    for (const Durability wanted : {Durability::kProcessCrash, Durability::kPowerLoss}) {
      ASSERT_TRUE(database->transaction(
          [&]() -> Result<void> {
            EXPECT_EQ(synchronous(*database), wanted == Durability::kPowerLoss ? 2 : 1);
            const Result<int64_t> done = database->change("DELETE FROM things");
            if (!done) return done.error();
            EXPECT_EQ(synchronous(*database), wanted == Durability::kPowerLoss ? 2 : 1);
            return {};
          },
          wanted));
      ASSERT_TRUE(database->change("DELETE FROM things"));
      EXPECT_EQ(synchronous(*database), usual_level) << "a change alone has the usual one";
    }
    ASSERT_TRUE(database->transaction([&]() -> Result<void> {
      EXPECT_EQ(synchronous(*database), usual_level);
      return {};
    }));
  }
}

TEST(Database, AFileSizeLimitIsADiskThatIsFull) {
  const TemporaryFolder folder;
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    constexpr rlim_t kBytes = 200'000;
    const rlimit limit{.rlim_cur = kBytes, .rlim_max = kBytes};
    const auto database = Database::open(folder / "a.db", kVersions);
    if (!database || setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(1);
    if (!insert_thing(**database, "small")) _exit(2);
    const Result<void> done = insert_thing(**database, std::string(2 * kBytes, 'x'));
    if (done || done.error().kind != ErrorKind::kDiskFull) _exit(3);
    _exit(names(**database) == std::vector<std::string>{"small"} ? 0 : 4);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(names(*opened(folder / "a.db")), std::vector<std::string>{"small"});
}

// What makes SQLite end a transaction is told to all that were part of it, not only to the one that
// met it.
TEST(Database, AFullDiskWithinAPartIsTheFailureOfAllParts) {
  const TemporaryFolder folder;
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    constexpr rlim_t kBytes = 1'000'000;
    const rlimit limit{.rlim_cur = kBytes, .rlim_max = kBytes};
    const auto database = Database::open(folder / "a.db", kVersions);
    if (!database || setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(1);
    const auto is_told = [](const Result<void>& done) {
      return !done && done.error().kind == ErrorKind::kDiskFull &&
             done.error().message.find("File too large") != std::string::npos;
    };
    int code = 0;
    const Result<void> whole = (*database)->transaction([&]() -> Result<void> {
      if (!(*database)->part_of_transaction([&] { return insert_thing(**database, "a"); }))
        code = 2;
      // More than SQLite keeps in memory until the commit.
      const Result<void> large = (*database)->part_of_transaction(
          [&] { return insert_thing(**database, std::string(16 * kBytes, 'x')); });
      if (!is_told(large)) code = 3;
      if (!is_told((*database)->part_of_transaction([&]() -> Result<void> {
            code = 4;
            return {};
          })))
        code = 5;
      return {};
    });
    if (!is_told(whole)) code = 6;
    if (!insert_thing(**database, "b")) code = 7;
    if (names(**database) != std::vector<std::string>{"b"}) code = 8;
    _exit(code);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "exit status " << WEXITSTATUS(status);
}

TEST(Database, WhatWasClosedIsNotReadWholeAgainUnlessItIsAskedFor) {
  const TemporaryFolder folder;
  const std::string path = folder / "a.db";
  constexpr DatabaseOptions kTrusting = {.durability = Durability::kProcessCrash,
                                         .check = OpenCheck::kEveryPageIfUnclean};
  {
    const auto database = opened(path);
    ASSERT_TRUE(database->transaction([&]() -> Result<void> {
      for (int64_t i = 0; i < 500; ++i) {
        const Result<int64_t> done =
            database->change("INSERT INTO things (name) VALUES (?)",
                             {"a name that is long enough to fill pages " + std::to_string(i)});
        if (!done) return done.error();
      }
      return {};
    }));
  }
  std::string bad = read(path);
  ASSERT_GT(bad.size(), 30'000U);
  std::fill_n(bad.begin() + 4096 * 5, 4096, '\xEE');
  write(path, bad);
  EXPECT_FALSE(Database::open(path, kVersions));
  for (const std::string_view ending : {"-wal", "-shm"})
    std::filesystem::remove(path + std::string(ending));
  EXPECT_TRUE(Database::open(path, kVersions, kTrusting));
  write(path + "-wal", "");  // as a process leaves it that was killed
  const Result<std::unique_ptr<Database>> refused = Database::open(path, kVersions, kTrusting);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kInvalid);
}

}  // namespace
}  // namespace windrow::store
