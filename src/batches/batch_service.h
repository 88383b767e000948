// BatchService: all batches of a server. They are created, looked at and cancelled by clients, and
// run beside them: validated in their order, a few at a time, until all rows have a result,
// somebody cancels or their time is over. They go on where they were after any end of the process.
#pragma once

#include <boost/json/object.hpp>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "batch/line_source.h"
#include "batch/row_words.h"
#include "batches/batch_figures.h"
#include "batches/batch_job.h"
#include "batches/batch_record.h"
#include "batches/batch_table.h"
#include "batches/data_dir.h"
#include "batches/file_store.h"
#include "batches/models.h"
#include "batches/reply.h"
#include "batches/tally.h"
#include "llm/request_json.h"
#include "store/disk.h"

namespace windrow::batches {

struct BatchOptions {
  // Batches whose rows run at the same time; as many again of those whose keys have none that runs.
  int32_t running_max = 2;
  int64_t rows_max = 50'000;  // of one batch, and of the texts that it wants embedded
  bool mixed_models = false;  // one file may name several

  // Of one input, unpacked: gigabytes of nothing are a few bytes of gzip, and while they are looked
  // at nothing else is.
  uint64_t text_bytes_max = uint64_t{2} << 30;

  boost::json::object body_defaults;  // laid under every body
  llm::UnknownFields unknown_fields = llm::UnknownFields::kRefuse;
  batch::RowApis apis = {};   // in whose words rows may be asked, too
  BatchKeys* keys = nullptr;  // outlives the service; null: the server demands no keys

  // A batch that could not go on is tried again after so long.
  Duration retry_after = std::chrono::seconds(10);

  // Tells the people who run the server of damage and of batches that cannot go on. Any thread.
  std::function<void(const std::string&)> warn;
};

// A batch as it is now, and why it does not go on, when it does not.
struct BatchView {
  BatchRecord record;
  std::string note;
};

struct BatchPage {
  std::vector<BatchView> batches;
  bool has_more = false;
};

// Thread-safe. Methods for clients may wait for the disk, not for rows.
class BatchService {
 public:
  // Reads what has not ended. Everything given outlives it. kIo, kDiskFull, kInvalid.
  static Result<std::unique_ptr<BatchService>> open(DataDir& data, FileStore& files,
                                                    store::Disk& disk, const Clock& clock,
                                                    BatchOptions options);

  // As stop(Duration{}).
  ~BatchService();
  BatchService(const BatchService&) = delete;
  BatchService& operator=(const BatchService&) = delete;

  // From now on batches run; until then they can be created and wait. Once.
  void start(BatchModels& models);

  // A key that was used before by the same owner brings the batch that it made then; 400 where that
  // asked for something else.
  Reply<BatchView> create(const Viewer& owner, const BatchRequest& request,
                          const std::string& idempotency_key);

  Reply<BatchView> get(const Viewer& viewer, std::string_view id);
  Reply<BatchPage> list(const Viewer& viewer, const BatchQuery& query);

  // 400 where it has ended, or is about to, otherwise than by this.
  Reply<BatchView> cancel(const Viewer& viewer, std::string_view id);

  // Waits for nobody.
  BatchReadings readings() const { return figures_.read(); }

  // No row starts any more; those that run may finish within `grace`. Blocks until everything is on
  // disk. What has not ended goes on at the next start.
  void stop(Duration grace);

 private:
  // Twice as long each time that it was not enough.
  static constexpr Duration kFirstTurn = std::chrono::seconds(2);

  struct Live {
    BatchRecord record;
    bool working = false;                      // a thread has it
    bool counts_as_running = false;            // its rows are being answered
    std::shared_ptr<BatchJob> job;             // while rows run
    std::shared_ptr<batch::LineSource> lines;  // while it is validated
    Duration turn = kFirstTurn;                // how long that may take while others wait for it
    bool turn_over = false;                    // it takes longer
    std::optional<TimePoint> not_before;
    std::string note;
  };
  using LivePtr = std::shared_ptr<Live>;
  using Change = std::function<void(BatchRecord&)>;

  // How often the clock is looked at: it can wake nobody.
  static constexpr std::chrono::milliseconds kLookInterval{100};

  struct Worker {
    std::thread thread;
    bool ended = false;
  };

  BatchService(DataDir& data, FileStore& files, store::Disk& disk, const Clock& clock,
               BatchOptions options);

  // With the lock:
  Result<bool> apply(Live& live, BatchEvent event, const Change& change = {});
  BatchView view(const Live& live) const;
  LivePtr find_live(std::string_view id) const;
  void hold_back(Live& live, const Error& error);
  void look_at_time();
  void note_counts();
  static RequestCounts counts_of(const Live& live);
  std::string waited_for(const BatchRecord& record) const;
  bool lacks_its_key(const BatchRecord& record) const;
  bool takes_a_place(const Live& live) const;
  void begin_what_can();
  void begin(const LivePtr& live, void (BatchService::*work)(const LivePtr&));
  LivePtr next_to_validate() const;
  void end_long_turn();
  LivePtr next_to_run(int32_t running) const;

  // Threads of their own:
  void look();
  void validate(const LivePtr& live);
  void run_rows(const LivePtr& live);
  void close(const LivePtr& live);

  Result<void> read_input(const LivePtr& live);
  Result<bool> end_rows(const LivePtr& live, const BatchRecord& record);
  Result<void> make_files(const LivePtr& live, const BatchTally& sums);
  Result<StoredFile> input_of(const BatchRecord& record);
  void join_ended();
  BatchRecord record_of(const LivePtr& live) const;
  std::optional<llm::Failure> check_input(const Viewer& owner, const BatchRequest& request);
  BatchJob::World world() const;

  DataDir& data_;
  FileStore& files_;
  store::Disk& disk_;
  const Clock& clock_;
  const BatchOptions options_;
  BatchTable table_;
  BatchFigures figures_;
  BatchModels* models_ = nullptr;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<int64_t, LivePtr> live_;  // by number: those that have not ended
  std::list<Worker> workers_;
  LivePtr validating_;
  TimePoint validating_since_;
  std::string validated_last_;  // whose it was
  bool stopping_ = false;
  std::optional<TimePoint> swept_at_;
  std::optional<TimePoint> noted_at_;
  std::thread looker_;
};

}  // namespace windrow::batches
