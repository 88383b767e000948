#include "app/commands/doctor_server_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/format.h"

namespace windrow::app {
namespace {

constexpr uint32_t kRead = 4;
constexpr uint32_t kWrite = 2;
constexpr uint32_t kSearch = 1;

// Below that, a disk is nearly full.
constexpr uint64_t kDiskBytesMin = uint64_t{1} << 30;

// Cuts the first field off, and the separator behind it.
std::string_view take_field(std::string_view& text, char separator) {
  const size_t end = std::min(text.find(separator), text.size());
  const std::string_view field = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return field;
}

std::optional<uint32_t> parse_id(std::string_view text) {
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::string_view folder_of_path(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? "." : path.substr(0, std::max<size_t>(slash, 1));
}

}  // namespace

Finding check_address(const AddressFacts& address) {
  Finding finding{.name = "address", .says = address.address};
  switch (address.state) {
    case AddressState::kFree:
      finding.says += " is free";
      break;
    case AddressState::kInUse:
      finding.verdict = Verdict::kWarning;
      finding.says += " is in use, by a server that runs already or by another program";
      finding.advice = "`ss -ltnp` shows the program; another address is --listen HOST:PORT";
      break;
    case AddressState::kNotAllowed:
      finding.verdict = Verdict::kFault;
      finding.says += " is not allowed to this user: ports below 1024 are for privileged programs";
      finding.advice =
          "take a port above 1023 (--listen HOST:8080), or of the service: "
          "AmbientCapabilities=CAP_NET_BIND_SERVICE";
      break;
    case AddressState::kNotHere:
      finding.verdict = Verdict::kFault;
      finding.says += " is no address of this machine";
      finding.advice = "`ip address` lists those of this machine; 0.0.0.0 is all of them";
      break;
    case AddressState::kUnknown:
      finding.verdict = Verdict::kFault;
      finding.says += fmt::format(" cannot be used: {}", address.why);
      finding.advice = "name another address with --listen HOST:PORT";
      break;
  }
  return finding;
}

std::optional<ServiceUser> find_user(std::string_view users, std::string_view name) {
  while (!users.empty()) {
    std::string_view line = take_field(users, '\n');
    if (take_field(line, ':') != name) continue;
    take_field(line, ':');
    const std::optional<uint32_t> user = parse_id(take_field(line, ':'));
    const std::optional<uint32_t> group = parse_id(take_field(line, ':'));
    if (user && group) return ServiceUser{.user = *user, .group = *group};
  }
  return std::nullopt;
}

bool permits(const FileAccess& access, const ServiceUser& user, uint32_t wanted) {
  constexpr unsigned kOfOwner = 6;
  constexpr unsigned kOfGroup = 3;
  const unsigned shift = user.user == access.owner    ? kOfOwner
                         : user.group == access.group ? kOfGroup
                                                      : 0;
  return ((access.mode >> shift) & wanted) == wanted;
}

Finding check_data_folder(const FolderFacts& folder) {
  Finding finding{.name = "data-dir", .says = folder.path};
  if (!folder.exists) {
    if (folder.can_be_made) {
      finding.says += " is made by the first server";
      return finding;
    }
    finding.verdict = Verdict::kFault;
    finding.says += " does not exist, and this user may not make it";
    finding.advice = fmt::format("as root: install -d -o USER -m 0700 {}", folder.path);
    return finding;
  }
  if (!folder.writable) {
    finding.verdict = Verdict::kFault;
    finding.says += " cannot be written to by this user";
    finding.advice =
        fmt::format("as root: chown -R USER {}; or name another --data-dir", folder.path);
    return finding;
  }
  if (folder.service && !permits(folder.access, *folder.service, kRead | kWrite | kSearch)) {
    finding.verdict = Verdict::kFault;
    finding.says += fmt::format(" cannot be written to by the user {}", kServiceUserName);
    finding.advice = fmt::format("chown -R {0}:{0} {1}", kServiceUserName, folder.path);
    return finding;
  }
  finding.says +=
      fmt::format(" can be written to; its disk has {} free", human_bytes(folder.free_bytes));
  if (!folder.holder.empty()) finding.says += fmt::format("; {} uses it now", folder.holder);
  if (folder.free_bytes < kDiskBytesMin) {
    finding.verdict = Verdict::kWarning;
    finding.advice = "batches and uploads stop when the disk is full: make room";
  }
  return finding;
}

Finding check_key_file(const KeyFileFacts& file) {
  Finding finding{.name = "api-keys", .says = file.path};
  if (!file.failure.empty()) {
    finding.verdict = Verdict::kFault;
    finding.says = file.failure;
    finding.advice = fmt::format("`windrow keys add {} NAME` makes such a file", file.path);
    return finding;
  }
  const bool hidden = file.service && (!permits(file.access, *file.service, kRead) ||
                                       !permits(file.folder, *file.service, kSearch));
  if (hidden) {
    finding.verdict = Verdict::kFault;
    finding.says += fmt::format(" cannot be read by the user {}", kServiceUserName);
    finding.advice = fmt::format("chgrp {0} {1} {2}; chmod g+rx {1}; chmod g+r {2}",
                                 kServiceUserName, folder_of_path(file.path), file.path);
    return finding;
  }
  finding.says += fmt::format(" has {} key{}", file.keys, file.keys == 1 ? "" : "s");
  if (file.keys == 0) {
    finding.verdict = Verdict::kWarning;
    finding.says += ", so every request is refused";
    finding.advice = fmt::format("`windrow keys add {} NAME` makes one", file.path);
  }
  return finding;
}

Finding check_open_files(uint64_t files_max) {
  constexpr uint64_t kPlenty = 4096;
  Finding finding{.name = "open files",
                  .says = fmt::format("{} at a time, one for each client", files_max)};
  if (files_max < kPlenty) {
    finding.verdict = Verdict::kWarning;
    finding.advice =
        "more clients wait to be accepted: raise the hard limit (ulimit -Hn 65536; of the service: "
        "LimitNOFILE=65536)";
  }
  return finding;
}

}  // namespace windrow::app
