// AnswerIndex: where the outcome of each row of a job is in its logs, by custom_id; for faulty
// lines by the number of the line. 16 bytes a row. Reads logs that a running job still writes: a
// line that is not whole yet is not there.
#pragma once

#include <boost/json/object.hpp>
#include <compare>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "batch/job_paths.h"
#include "batch/log_scan.h"
#include "json/parse.h"
#include "store/disk.h"

namespace windrow::table {

// Used by one thread.
class AnswerIndex {
 public:
  // Called for each answered row while the logs are read; may be empty.
  using Visit = std::function<void(const boost::json::object& line)>;

  // Reads both logs from their fronts. `disk` outlives the index. kNotFound where the job has
  // neither; kInvalid for a log with a line that Windrow did not write; kIo.
  static Result<std::unique_ptr<AnswerIndex>> read(store::Disk& disk, const batch::JobPaths& paths,
                                                   const Visit& visit,
                                                   const std::function<bool()>& interrupted);

  // The line of the log for a row; null where it has none yet. Of two outcomes a result counts,
  // else the last failure. `input_line`: of the row; a fault of that line counts where the row has
  // no outcome, or where the line repeats its custom_id. Valid until the next call. kIo.
  Result<const boost::json::object*> find(std::string_view custom_id, uint64_t input_line);

  bool empty() const { return rows_.empty() && lines_.empty(); }

  // Whether find() would find a line, without reading it.
  bool has(std::string_view custom_id, uint64_t input_line) const;

 private:
  // `where`: the offset in the log, and the highest bit for the results, so that of several
  // outcomes of one row the greatest counts.
  struct Entry {
    uint64_t key;
    uint64_t where;

    friend auto operator<=>(const Entry&, const Entry&) = default;
  };

  explicit AnswerIndex(store::Disk& disk) : disk_(disk) {}

  Result<void> read_log(const std::string& path, batch::LogKind kind, const Visit& visit,
                        const std::function<bool()>& interrupted);
  Result<const boost::json::object*> find_row(std::string_view custom_id);
  Result<const boost::json::object*> line_at(uint64_t where);
  static std::pair<const Entry*, const Entry*> range(const std::vector<Entry>& entries,
                                                     uint64_t key);

  // The lines of one log at any offset: neighbours are read with one call.
  struct Window {
    std::unique_ptr<store::ReadFile> file;
    uint64_t offset = 0;
    std::string bytes;

    Result<std::string_view> line(uint64_t at);
  };

  store::Disk& disk_;
  std::vector<Entry> rows_;   // sorted; key: hash of the custom_id
  std::vector<Entry> lines_;  // sorted; key: number of the input line
  Window results_;
  Window errors_;
  JsonLineParser parser_;
};

}  // namespace windrow::table
