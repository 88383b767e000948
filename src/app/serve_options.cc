#include "app/serve_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "app/pool_settings.h"

namespace windrow::app {
namespace {

Error invalid_serve_option(std::string message) {
  return Error{ErrorKind::kInvalid, std::move(message)};
}

Result<void> check_together(const Settings& settings, const ListenAddress& listen) {
  if (settings.insecure_no_keys && !settings.api_keys.empty()) {
    return invalid_serve_option(
        "--insecure-no-keys and --api-keys contradict each other; leave one out");
  }
  if (settings.tls_cert.empty() != settings.tls_key.empty()) {
    const bool cert = !settings.tls_cert.empty();
    return invalid_serve_option(
        fmt::format("--tls-{} needs --tls-{}: a certificate and its key belong together",
                    cert ? "cert" : "key", cert ? "key" : "cert"));
  }
  if (settings.log_prompts && settings.log == "none") {
    return invalid_serve_option("--log-prompts needs --log: there is no log they could go into");
  }
  if (!is_loopback(listen.host) && settings.api_keys.empty() && !settings.insecure_no_keys) {
    return invalid_serve_option(fmt::format(
        "--listen {} lets other machines ask, and nobody would need a key; make one with "
        "`windrow keys add keys.txt NAME` and add --api-keys keys.txt (--insecure-no-keys does "
        "without)",
        settings.listen));
  }
  return {};
}

}  // namespace

Result<ServeOptions> serve_options(const Settings& settings) {
  Result<ListenAddress> listen = parse_listen(settings.listen);
  if (!listen) return listen.error().in(fmt::format("--listen {}", settings.listen));
  if (Result<void> checked = check_together(settings, *listen); !checked) return checked.error();
  Result<api::CorsPolicy> cors = api::CorsPolicy::make(settings.cors_origins);
  if (!cors) return cors.error().in("--cors-origin");
  return ServeOptions{.listen = *std::move(listen), .cors = *std::move(cors)};
}

Result<std::map<std::string, std::string>> local_aliases(const Settings& settings,
                                                         const std::vector<std::string>& names) {
  std::map<std::string, std::string> aliases;
  for (const std::string& text : settings.model_aliases) {
    const size_t sign = text.find('=');
    if (sign == std::string::npos || sign == 0 || sign + 1 == text.size()) {
      return invalid_serve_option(
          fmt::format("--model-alias {}: write NAME=MODEL, a further name of a model", text));
    }
    const std::string name = text.substr(0, sign);
    const std::string model = text.substr(sign + 1);
    if (std::ranges::find(names, model) == names.end()) {
      return invalid_serve_option(
          fmt::format("--model-alias {}: no model is called {}; there is {}", text, model,
                      fmt::join(names, ", ")));
    }
    if (std::ranges::find(names, name) != names.end()) {
      return invalid_serve_option(
          fmt::format("--model-alias {}: a model is called {} already", text, name));
    }
    const auto [place, added] = aliases.emplace(name, model);
    if (!added && place->second != model) {
      return invalid_serve_option(
          fmt::format("--model-alias {}: {} stands for {} already", text, name, place->second));
    }
  }
  return aliases;
}

Result<void> check_names(const Settings& settings, const std::vector<fleet::ModelChoice>& models) {
  // Servers elsewhere have names of their own.
  if (models.empty()) return {};
  std::vector<std::string> names;
  names.reserve(models.size());
  for (const fleet::ModelChoice& choice : models)
    names.push_back(fleet::served_name(choice));
  const Result<std::map<std::string, std::string>> aliases = local_aliases(settings, names);
  if (!aliases) return aliases.error();
  const Result<fleet::PoolOptions> pool = pool_options(settings, names);
  if (!pool) return pool.error();
  return {};
}

Result<std::unique_ptr<store::FileLock>> hold_data_dir(const Settings& settings,
                                                       store::Disk& disk) {
  if (settings.data_dir.empty()) return std::unique_ptr<store::FileLock>();
  const std::filesystem::path folder = settings.data_dir;
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error || !std::filesystem::is_directory(folder, error)) {
    return Error{ErrorKind::kIo,
                 fmt::format("--data-dir {}: the folder cannot be made: {}", settings.data_dir,
                             error ? error.message() : "there is a file of this name")};
  }
  Result<std::unique_ptr<store::FileLock>> lock = disk.lock((folder / "server.lock").string());
  if (!lock) return lock.error().in("--data-dir");
  return lock;
}

}  // namespace windrow::app
