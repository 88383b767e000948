// What `windrow doctor` says of what a server needs besides models: its address, its folder, its
// keys and open files. Facts -> findings, as in doctor_checks. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "app/commands/doctor_checks.h"

namespace windrow::app {

// The user that the packages make for the service.
constexpr std::string_view kServiceUserName = "windrow";

enum class AddressState : uint8_t { kFree, kInUse, kNotAllowed, kNotHere, kUnknown };

struct AddressFacts {
  std::string address;  // "127.0.0.1:8080"
  AddressState state = AddressState::kFree;
  std::string why;  // kUnknown: what the system said
};

Finding check_address(const AddressFacts& address);

// The owner of a file or folder, and its permissions.
struct FileAccess {
  uint32_t owner = 0;
  uint32_t group = 0;
  uint32_t mode = 0;  // the permission bits
};

struct ServiceUser {
  uint32_t user = 0;
  uint32_t group = 0;
};

// The user of this name. `users`: the contents of /etc/passwd.
std::optional<ServiceUser> find_user(std::string_view users, std::string_view name);

// Whether the permissions let the user do all of `wanted`: 4 read, 2 write, 1 search.
bool permits(const FileAccess& access, const ServiceUser& user, uint32_t wanted);

struct FolderFacts {
  std::string path;
  bool exists = false;
  bool can_be_made = false;  // where it does not exist
  bool writable = false;     // by this process
  std::string holder;        // the process that has it locked; empty: none
  uint64_t free_bytes = 0;   // of its disk

  // Only where the program runs as root and the machine has a user for the service.
  std::optional<ServiceUser> service;
  FileAccess access;
};

Finding check_data_folder(const FolderFacts& folder);

struct KeyFileFacts {
  std::string path;
  std::string failure;  // why it cannot be used; empty: it can
  size_t keys = 0;

  // As in FolderFacts; `folder` is the file's.
  std::optional<ServiceUser> service;
  FileAccess access;
  FileAccess folder;
};

Finding check_key_file(const KeyFileFacts& file);

// `files_max`: how many files the process may have open.
Finding check_open_files(uint64_t files_max);

}  // namespace windrow::app
