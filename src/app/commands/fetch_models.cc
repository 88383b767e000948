#include "app/commands/fetch_models.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "app/process/open_files.h"
#include "app/settings/fleet_settings.h"
#include "base/format.h"
#include "http/curl_client.h"
#include "http/loop.h"
#include "model_store/model_store.h"

namespace windrow::app {
namespace {

namespace json = boost::json;

// Where there is no live line, which is drawn with every reading.
constexpr Duration kFetchSentence = std::chrono::seconds(10);
constexpr Duration kEvent = std::chrono::seconds(1);

// Shows the progress of downloads.
class DownloadReporter {
 public:
  DownloadReporter(Console& console, const Clock& clock) : console_(console), clock_(clock) {}

  void progress(const model_store::DownloadProgress& progress) {
    const TimePoint now = clock_.now();
    if (progress.file != file_) {
      file_ = progress.file;
      first_bytes_ = progress.bytes;
      first_at_ = now;
      said_at_ = now;
      event_at_ = now;
    }
    const double elapsed_s = seconds(now - first_at_);
    const auto came = static_cast<double>(progress.bytes - std::min(progress.bytes, first_bytes_));
    const std::string text = download_text(progress, elapsed_s > 1 ? came / elapsed_s : 0);
    console_.line(text);
    if (now - event_at_ >= kEvent) {
      event_at_ = now;
      console_.event("download",
                     {{"file", progress.file},
                      {"bytes", progress.bytes},
                      {"bytes_in_all", progress.bytes_in_all ? json::value(*progress.bytes_in_all)
                                                             : json::value(nullptr)}});
    }
    if (console_.live() || now - said_at_ < kFetchSentence) return;
    said_at_ = now;
    console_.note(text);
  }

 private:
  Console& console_;
  const Clock& clock_;
  std::string file_;
  uint64_t first_bytes_ = 0;
  TimePoint first_at_;
  TimePoint said_at_;
  TimePoint event_at_;
};

std::string trimmed(std::string text) {
  text.erase(text.find_last_not_of(" \t\r\n") + 1);
  return text;
}

}  // namespace

Result<std::string> models_folder(const Environment& environment) {
  std::string cache = variable(environment, "XDG_CACHE_HOME");
  if (cache.empty()) {
    const std::string home = variable(environment, "HOME");
    if (home.empty()) {
      return Error{ErrorKind::kInvalid,
                   "neither XDG_CACHE_HOME nor HOME is set; one of them says where downloaded "
                   "models go"};
    }
    cache = home + "/.cache";
  }
  return cache + "/windrow/models";
}

std::string download_text(const model_store::DownloadProgress& progress, double bytes_per_s) {
  std::string text = fmt::format("{}: {}", progress.file, human_bytes(progress.bytes));
  if (progress.bytes_in_all && *progress.bytes_in_all > 0) {
    text += fmt::format(
        " of {} ({} %)", human_bytes(*progress.bytes_in_all),
        100 * std::min(progress.bytes, *progress.bytes_in_all) / *progress.bytes_in_all);
  }
  if (bytes_per_s <= 0) return text;
  text += fmt::format(", {}/s", human_bytes(static_cast<uint64_t>(bytes_per_s)));
  if (progress.bytes_in_all && *progress.bytes_in_all > progress.bytes) {
    const double left_s =
        static_cast<double>(*progress.bytes_in_all - progress.bytes) / bytes_per_s;
    constexpr double kFarS = 1e8;  // years: not worth showing
    if (left_s < kFarS) {
      text += fmt::format(", {} left", human_duration(std::chrono::duration_cast<Duration>(
                                           std::chrono::duration<double>(left_s))));
    }
  }
  return text;
}

Result<std::string> fetch_model(const std::string& text, const Environment& environment,
                                const Clock& clock, store::Disk& disk, Console& console) {
  if (!model_store::is_remote(text)) return text;
  const Result<std::string> folder = models_folder(environment);
  if (!folder) return folder.error();
  model_store::ModelStoreOptions options{.folder = *folder,
                                         .token = trimmed(variable(environment, "HF_TOKEN"))};
  if (const std::string hub = variable(environment, "HF_ENDPOINT"); !hub.empty()) options.hub = hub;

  if (const Result<uint64_t> files_max = raise_open_files(); !files_max) return files_max.error();
  http::Loop loop(clock);
  const auto client = std::make_unique<http::CurlClient>(loop, client_options(environment));
  DownloadReporter reporter(console, clock);
  model_store::ModelStore store(*client, disk, std::move(options));
  Result<std::string> path =
      store.fetch(text, {.on_progress = [&](const auto& progress) { reporter.progress(progress); },
                         .on_note = [&](const std::string& note) { console.note(note); }});
  console.end_progress();
  return path;
}

Result<void> fetch_models(std::vector<fleet::ModelChoice>& choices, const Environment& environment,
                          const Clock& clock, store::Disk& disk, Console& console) {
  for (fleet::ModelChoice& choice : choices) {
    Result<std::string> path = fetch_model(choice.path, environment, clock, disk, console);
    if (!path) return path.error();
    choice.path = *std::move(path);
  }
  return {};
}

}  // namespace windrow::app
