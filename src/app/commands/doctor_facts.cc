#include "app/commands/doctor_facts.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <system_error>
#include <utility>

#include "api/keys/keys.h"
#include "app/settings/model_settings.h"
#include "fleet/model_estimate.h"
#include "model_store/model_source.h"

namespace windrow::app {
namespace {

namespace fs = std::filesystem;

// Files of /proc and /sys say no size, so they are read to their end. Empty where there is none.
std::string text_of_system_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

int cores_of_process() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (::sched_getaffinity(0, sizeof(cores), &cores) != 0) return 1;
  return CPU_COUNT(&cores);
}

// The folder of this process in the hierarchy of control groups, version 2.
fs::path control_group() {
  const std::string groups = text_of_system_file("/proc/self/cgroup");
  constexpr std::string_view kVersion2 = "0::/";
  const size_t at = groups.find(kVersion2);
  if (at == std::string::npos) return {};
  const size_t begin = at + kVersion2.size();
  return fs::path("/sys/fs/cgroup") / groups.substr(begin, groups.find('\n', begin) - begin);
}

bool may_access(const std::string& path, int wanted) {
  return ::faccessat(AT_FDCWD, path.c_str(), wanted, AT_EACCESS) == 0;
}

std::optional<FileAccess> access_of(const std::string& path) {
  constexpr uint32_t kPermissionBits = 0777;
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  return FileAccess{
      .owner = status.st_uid, .group = status.st_gid, .mode = status.st_mode & kPermissionBits};
}

// The user of the service, where root asks: what root can read says nothing of the service.
std::optional<ServiceUser> service_user() {
  if (::geteuid() != 0) return std::nullopt;
  return find_user(text_of_system_file("/etc/passwd"), kServiceUserName);
}

// The nearest folder above a path that exists.
fs::path existing_above(fs::path path) {
  std::error_code error;
  while (!path.empty() && !fs::exists(path, error)) {
    fs::path above = path.parent_path();
    if (above == path) break;
    path = std::move(above);
  }
  return path.empty() ? fs::path(".") : path;
}

class TrialSocket {
 public:
  explicit TrialSocket(int descriptor) : descriptor_(descriptor) {}
  ~TrialSocket() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  TrialSocket(const TrialSocket&) = delete;
  TrialSocket& operator=(const TrialSocket&) = delete;

  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

AddressState state_of_failure(int error) {
  switch (error) {
    case EADDRINUSE:
      return AddressState::kInUse;
    case EACCES:
      return AddressState::kNotAllowed;
    case EADDRNOTAVAIL:
      return AddressState::kNotHere;
    default:
      return AddressState::kUnknown;
  }
}

}  // namespace

CpuFacts cpu_facts() {
  return parse_cpu_info(text_of_system_file("/proc/cpuinfo"), cores_of_process());
}

LibraryFacts library_facts(const engine::LlamaLibrary* library, const std::string& failure) {
  const std::string maps = text_of_system_file("/proc/self/maps");
  const std::vector<std::string> llama = libraries_in_maps(maps, "libllama.so");
  LibraryFacts facts{.path = llama.empty() ? std::string() : llama.front(),
                     .built_against = engine::LlamaLibrary::built_against(),
                     .tested = WINDROW_TESTED_RUNTIME,
                     .failure = failure};
  for (std::string& path : libraries_in_maps(maps, "libggml-")) {
    // That one belongs to libggml itself.
    if (path.find("libggml-base.") == std::string::npos) facts.plugins.push_back(std::move(path));
  }
  if (library != nullptr) facts.devices = library->devices();
  return facts;
}

std::vector<GpuFile> gpu_files() {
  std::vector<GpuFile> files;
  const auto add = [&](const std::string& path) {
    std::error_code error;
    if (fs::exists(path, error))
      files.push_back({.path = path, .may_use = may_access(path, R_OK | W_OK)});
  };
  add("/dev/nvidia0");
  add("/dev/kfd");
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator("/dev/dri", error)) {
    if (entry.path().filename().string().starts_with("renderD")) add(entry.path().string());
  }
  return files;
}

MemoryFacts memory_facts() {
  const fs::path group = control_group();
  return parse_memory_info(
      text_of_system_file("/proc/meminfo"),
      group.empty() ? std::string() : text_of_system_file((group / "memory.max").string()));
}

CheckedModel model_facts(engine::LlamaLibrary* library, const fleet::ModelChoice& choice,
                         const fleet::EngineOptions& options) {
  CheckedModel model{.named = choice.path};
  if (model_store::is_remote(choice.path)) {
    model.is_remote = true;
    return model;
  }
  if (library == nullptr && !fleet::is_simulated(choice)) {
    model.failure = "it was not tried, because libllama does not start";
    return model;
  }
  if (!fleet::is_simulated(choice)) {
    if (const Result<void> is_model = check_model_file(choice.path); !is_model) {
      model.failure = is_model.error().message;
      return model;
    }
  }
  if (const Result<void> loadable = fleet::check_loadable(library, choice); !loadable) {
    model.failure = loadable.error().message;
    return model;
  }
  const Result<fleet::ModelHeader> header = fleet::read_model_header(library, choice);
  if (!header) {
    model.failure = header.error().message;
    return model;
  }
  // As if only the smallest contexts had room: what it needs, not what it would take.
  constexpr uint64_t kSmallest = 1;
  model.bytes = fleet::model_estimate(*header, choice, options, kSmallest).bytes;
  model.description = header->facts ? header->facts->description : "simulated";
  return model;
}

AddressFacts address_facts(const ListenAddress& address) {
  const bool colons = address.host.find(':') != std::string::npos;
  AddressFacts facts{.address = fmt::format("{}{}{}:{}", colons ? "[" : "", address.host,
                                            colons ? "]" : "", address.port)};
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int outcome =
      ::getaddrinfo(address.host.c_str(), fmt::format("{}", address.port).c_str(), &hints, &found);
  if (outcome != 0) {
    facts.state = AddressState::kUnknown;
    facts.why = ::gai_strerror(outcome);
    return facts;
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> addresses(found, ::freeaddrinfo);
  const TrialSocket socket(::socket(addresses->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  // As a server does: connections of an earlier one that are not over yet are no obstacle.
  if (socket.get() >= 0 &&
      ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
      ::bind(socket.get(), addresses->ai_addr, addresses->ai_addrlen) == 0 &&
      ::listen(socket.get(), 1) == 0) {
    return facts;
  }
  facts.state = state_of_failure(errno);
  facts.why = std::generic_category().message(errno);
  return facts;
}

FolderFacts folder_facts(const std::string& path, const store::Disk& disk) {
  std::error_code error;
  FolderFacts facts{.path = path, .exists = fs::is_directory(path, error)};
  const fs::path above = existing_above(path);
  facts.can_be_made = fs::is_directory(above, error) && may_access(above.string(), W_OK | X_OK);
  facts.writable = facts.exists && may_access(path, R_OK | W_OK | X_OK);
  const fs::space_info space = fs::space(above, error);
  if (!error) facts.free_bytes = space.available;
  if (facts.exists) {
    const Result<std::optional<std::string>> holder =
        disk.lock_holder((fs::path(path) / "server.lock").string());
    if (holder && *holder) facts.holder = **holder;
    if (const std::optional<FileAccess> access = access_of(path)) {
      facts.access = *access;
      facts.service = service_user();
    }
  }
  return facts;
}

KeyFileFacts key_file_facts(const std::string& path, store::Disk& disk) {
  KeyFileFacts facts{.path = path};
  const Result<std::string> text = disk.read_all(path);
  if (!text) {
    facts.failure = text.error().message;
    return facts;
  }
  const Result<api::KeyRing> keys = api::KeyRing::parse(*text, path);
  if (!keys) {
    facts.failure = keys.error().message;
    return facts;
  }
  facts.keys = keys->keys().size();
  const fs::path folder = fs::absolute(path).parent_path();
  const std::optional<FileAccess> of_file = access_of(path);
  const std::optional<FileAccess> of_folder = access_of(folder.string());
  if (of_file && of_folder) {
    facts.access = *of_file;
    facts.folder = *of_folder;
    facts.service = service_user();
  }
  return facts;
}

}  // namespace windrow::app
