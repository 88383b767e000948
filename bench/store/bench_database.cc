// bench_database: small transactions a second of one database, each in a commit of its own and
// grouped (store/group_commit.h), and what a point query of a reader takes with and without a
// writer beside it. The peer is a loop over SQLite itself: one prepared INSERT between BEGIN and
// COMMIT.
#include <fmt/format.h>
#include <sqlite3.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/format.h"
#include "base/random.h"
#include "store/database.h"
#include "store/group_commit.h"

namespace windrow {
namespace {

using Ticks = std::chrono::steady_clock;

constexpr std::array<std::string_view, 1> kVersions = {
    "CREATE TABLE events (id INTEGER PRIMARY KEY, owner INTEGER, note TEXT);"};
constexpr std::string_view kInsert = "INSERT INTO events (owner, note) VALUES (?, ?)";
constexpr int64_t kRows = 100'000;  // for the readers

struct Shape {
  std::string folder = "/dev/shm";
  double seconds = 2;
  int threads = 64;
  int reads = 50'000;
  bool crash_only = false;
};

double seconds_since(Ticks::time_point begin) {
  return std::chrono::duration<double>(Ticks::now() - begin).count();
}

void need(const Result<void>& done) {
  if (!done) throw std::runtime_error(done.error().message);
}

// A database in a file of its own, removed at the end.
class Subject {
 public:
  explicit Subject(const Shape& shape)
      : path_((std::filesystem::path(shape.folder) / "windrow-bench.db").string()) {
    remove();
    Result<std::unique_ptr<store::Database>> opened =
        store::Database::open(path_, kVersions,
                              {.durability = shape.crash_only ? store::Durability::kProcessCrash
                                                              : store::Durability::kPowerLoss});
    if (!opened) throw std::runtime_error(opened.error().message);
    database_ = *std::move(opened);
  }
  ~Subject() {
    database_.reset();
    remove();
  }
  Subject(const Subject&) = delete;
  Subject& operator=(const Subject&) = delete;

  store::Database& database() { return *database_; }
  const std::string& path() const { return path_; }

  Result<void> insert(int64_t owner) {
    const Result<int64_t> done = database_->change(kInsert, {owner, std::string("a short note")});
    if (!done) return done.error();
    return {};
  }

 private:
  void remove() const {
    for (const std::string_view ending : {"", "-wal", "-shm"})
      std::filesystem::remove(path_ + std::string(ending));
  }

  const std::string path_;
  std::unique_ptr<store::Database> database_;
};

// Calls `work` on each of so many threads until the time is over; calls a second.
double rate(const Shape& shape, int threads, const std::function<void(int)>& work) {
  std::atomic<int64_t> calls = 0;
  const auto begin = Ticks::now();
  std::vector<std::jthread> running;
  for (int t = 0; t < threads; ++t) {
    running.emplace_back([&, t] {
      int64_t mine = 0;
      for (; seconds_since(begin) < shape.seconds; ++mine)
        work(t);
      calls += mine;
    });
  }
  running.clear();
  return static_cast<double>(calls) / seconds_since(begin);
}

// SQLite alone, as simple as it gets.
double plain_rate(const Shape& shape) {
  Subject subject(shape);
  sqlite3* handle = nullptr;
  if (sqlite3_open(subject.path().c_str(), &handle) != SQLITE_OK)
    throw std::runtime_error("cannot open the database");
  sqlite3_exec(handle,
               shape.crash_only ? "PRAGMA synchronous = NORMAL" : "PRAGMA synchronous = FULL",
               nullptr, nullptr, nullptr);
  std::array<sqlite3_stmt*, 3> statements{};
  const std::array<std::string_view, 3> texts = {"BEGIN IMMEDIATE", kInsert, "COMMIT"};
  for (size_t i = 0; i < texts.size(); ++i)
    sqlite3_prepare_v2(handle, texts[i].data(), -1, &statements[i], nullptr);
  const double found = rate(shape, 1, [&](int) {
    sqlite3_bind_int64(statements[1], 1, 7);
    sqlite3_bind_text(statements[1], 2, "a short note", -1, SQLITE_STATIC);
    for (sqlite3_stmt* statement : statements) {
      if (sqlite3_step(statement) != SQLITE_DONE) throw std::runtime_error("a statement failed");
      sqlite3_reset(statement);
    }
  });
  for (sqlite3_stmt* statement : statements)
    sqlite3_finalize(statement);
  sqlite3_close(handle);
  return found;
}

double single_rate(const Shape& shape) {
  Subject subject(shape);
  return rate(shape, 1, [&](int owner) {
    need(subject.database().transaction([&] { return subject.insert(owner); }));
  });
}

struct Grouped {
  double transactions = 0;
  double commits = 0;
};
Grouped grouped_rate(const Shape& shape) {
  Subject subject(shape);
  store::GroupCommit group(subject.database());
  Grouped found;
  found.transactions = rate(shape, shape.threads, [&](int owner) {
    need(group.transaction([&] { return subject.insert(owner); }));
  });
  found.commits = static_cast<double>(group.commits()) / shape.seconds;
  return found;
}

struct Quantiles {
  double median_us = 0;
  double p99_us = 0;
};

// Point queries of one reader; with `writer`, beside a thread that commits small transactions at
// 2,000 a second.
Quantiles reads(const Shape& shape, bool writer) {
  Subject subject(shape);
  need(subject.database().transaction([&]() -> Result<void> {
    for (int64_t i = 0; i < kRows; ++i) {
      if (Result<void> done = subject.insert(i); !done) return done;
    }
    return {};
  }));
  Result<std::unique_ptr<store::DatabaseReader>> reader = subject.database().reader();
  if (!reader) throw std::runtime_error(reader.error().message);
  std::jthread beside;
  if (writer) {
    beside = std::jthread([&](const std::stop_token& stop) {
      std::mutex mutex;
      std::condition_variable_any pace;
      std::unique_lock lock(mutex);
      for (auto due = Ticks::now(); !stop.stop_requested(); due += std::chrono::microseconds(500)) {
        need(subject.database().transaction([&] { return subject.insert(1); }));
        pace.wait_until(lock, stop, due, [] { return false; });
      }
    });
  }
  Random random(20'261'127);
  std::vector<double> times;
  times.reserve(static_cast<size_t>(shape.reads));
  for (int i = 0; i < shape.reads; ++i) {
    const auto begin = Ticks::now();
    need((*reader)->ask("SELECT note FROM events WHERE id = ?",
                        {static_cast<int64_t>(1 + random.below(kRows))},
                        [](const store::DatabaseRow& row) { (void)row.bytes(0); }));
    times.push_back(1e6 * seconds_since(begin));
  }
  std::ranges::sort(times);
  return {.median_us = times[times.size() / 2], .p99_us = times[times.size() * 99 / 100]};
}

int run(const Shape& shape) {
  const double plain = plain_rate(shape);
  const double single = single_rate(shape);
  const Grouped grouped = grouped_rate(shape);
  const auto line = [&](std::string_view name, double value) {
    fmt::print("{:<44}{:>10}/s  {:.2f} of the peer\n", name,
               with_thousands(static_cast<int64_t>(value)), value / plain);
  };
  line("SQLite, one commit each (the peer)", plain);
  line("Database, one commit each", single);
  line(fmt::format("GroupCommit, {} threads", shape.threads), grouped.transactions);
  fmt::print("{:<44}{:>10.1f}\n", "  transactions of a commit",
             grouped.transactions / std::max(grouped.commits, 1.0));
  const Quantiles alone = reads(shape, false);
  const Quantiles beside = reads(shape, true);
  fmt::print("{:<44}{:>10.1f} us, p99 {:.1f} us\n", "a reader's query, alone", alone.median_us,
             alone.p99_us);
  fmt::print("{:<44}{:>10.1f} us, p99 {:.1f} us  ({:.2f} times)\n", "the same beside a writer",
             beside.median_us, beside.p99_us, beside.p99_us / alone.p99_us);
  return 0;
}

}  // namespace
}  // namespace windrow

int main(int argc, char** argv) {
  windrow::Shape shape;
  CLI::App app{"Measures small transactions and queries of a database."};
  app.add_option("--folder", shape.folder, "where the file lies")->capture_default_str();
  app.add_option("--seconds", shape.seconds, "of each rate")->capture_default_str();
  app.add_option("--threads", shape.threads, "that write at the same time")->capture_default_str();
  app.add_option("--reads", shape.reads, "queries of the reader")->capture_default_str();
  app.add_flag("--crash-only", shape.crash_only, "do not sync the log at each commit");
  CLI11_PARSE(app, argc, argv);
  try {
    return windrow::run(shape);
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_database: {}\n", error.what());
    return 1;
  }
}
