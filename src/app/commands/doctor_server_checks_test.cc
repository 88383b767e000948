#include "app/commands/doctor_server_checks.h"

#include <gtest/gtest.h>

#include <set>

namespace windrow::app {
namespace {

constexpr ServiceUser kService = {.user = 998, .group = 997};

TEST(DoctorAddress, EachStateSaysWhatToDo) {
  EXPECT_EQ(check_address({.address = "127.0.0.1:8080"}),
            (Finding{.name = "address", .says = "127.0.0.1:8080 is free"}));
  // The server that is asked about may be the one that runs.
  EXPECT_EQ(check_address({.address = "a:1", .state = AddressState::kInUse}).verdict,
            Verdict::kWarning);
  std::set<std::string> advice;
  for (const AddressState state :
       {AddressState::kNotAllowed, AddressState::kNotHere, AddressState::kUnknown}) {
    const Finding finding = check_address({.address = "a:1", .state = state, .why = "no reason"});
    EXPECT_EQ(finding.verdict, Verdict::kFault);
    advice.insert(finding.advice);
  }
  EXPECT_EQ(advice.size(), 3U);
  EXPECT_EQ(advice.contains(""), false);
}

TEST(DoctorUser, IsFoundByItsWholeName) {
  constexpr std::string_view kUsers =
      "root:x:0:0:root:/root:/bin/bash\nwindrow2:x:5:6::/:/bin/false\n"
      "windrow:x:998:997::/var/lib/windrow:/usr/sbin/nologin";
  const std::optional<ServiceUser> user = find_user(kUsers, "windrow");
  ASSERT_TRUE(user.has_value());
  EXPECT_EQ(user->user, 998U);
  EXPECT_EQ(user->group, 997U);
  EXPECT_FALSE(find_user(kUsers, "windro").has_value());
  EXPECT_FALSE(find_user("windrow:x:abc:1:", "windrow").has_value());
  EXPECT_FALSE(find_user("", "windrow").has_value());
}

// One class of the bits counts: an owner without a right does not get it from the group.
TEST(DoctorPermissions, AreThoseOfOwnerOrGroupOrOthers) {
  const FileAccess of_owner = {.owner = 998, .group = 0, .mode = 0604};
  EXPECT_TRUE(permits(of_owner, kService, 6));
  const FileAccess of_group = {.owner = 0, .group = 997, .mode = 0640};
  EXPECT_TRUE(permits(of_group, kService, 4));
  EXPECT_FALSE(permits(of_group, kService, 2));
  const FileAccess of_others = {.owner = 0, .group = 0, .mode = 0640};
  EXPECT_FALSE(permits(of_others, kService, 4));
  const FileAccess not_of_owner = {.owner = 998, .group = 997, .mode = 0066};
  EXPECT_FALSE(permits(not_of_owner, kService, 4));
}

TEST(DoctorKeys, AFileThatTheServiceCannotReadIsAFault) {
  KeyFileFacts file = {.path = "/etc/windrow/keys.txt",
                       .keys = 2,
                       .access = {.owner = 0, .group = 0, .mode = 0600},
                       .folder = {.owner = 0, .group = 997, .mode = 0750}};
  // The process that asks can read it, and there is no service.
  EXPECT_EQ(check_key_file(file),
            (Finding{.name = "api-keys", .says = "/etc/windrow/keys.txt has 2 keys"}));
  file.service = kService;
  const Finding hidden = check_key_file(file);
  EXPECT_EQ(hidden.verdict, Verdict::kFault);
  EXPECT_EQ(hidden.says, "/etc/windrow/keys.txt cannot be read by the user windrow");
  EXPECT_EQ(hidden.advice,
            "chgrp windrow /etc/windrow /etc/windrow/keys.txt; chmod g+rx /etc/windrow; chmod g+r "
            "/etc/windrow/keys.txt");
  file.access = {.owner = 0, .group = 997, .mode = 0640};
  EXPECT_EQ(check_key_file(file).verdict, Verdict::kOk);
  file.folder.mode = 0700;
  EXPECT_EQ(check_key_file(file).verdict, Verdict::kFault);
}

TEST(DoctorKeys, AFileWithoutKeysRefusesEverybody) {
  EXPECT_EQ(check_key_file({.path = "keys.txt", .keys = 0}).verdict, Verdict::kWarning);
  const Finding missing = check_key_file({.path = "keys.txt", .failure = "keys.txt: not there"});
  EXPECT_EQ(missing.verdict, Verdict::kFault);
  EXPECT_EQ(missing.says, "keys.txt: not there");
  EXPECT_EQ(missing.advice, "`windrow keys add keys.txt NAME` makes such a file");
}

TEST(DoctorDataFolder, IsThereOrCanBeMadeAndWrittenTo) {
  constexpr uint64_t kMuch = 100ULL << 30;
  EXPECT_EQ(check_data_folder({.path = "d", .can_be_made = true}).verdict, Verdict::kOk);
  EXPECT_EQ(check_data_folder({.path = "d"}).verdict, Verdict::kFault);
  EXPECT_EQ(check_data_folder({.path = "d", .exists = true}).verdict, Verdict::kFault);
  FolderFacts folder = {.path = "d", .exists = true, .writable = true, .free_bytes = kMuch};
  EXPECT_EQ(
      check_data_folder(folder),
      (Finding{.name = "data-dir", .says = "d can be written to; its disk has 100 GiB free"}));
  folder.holder = "process 7";
  EXPECT_NE(check_data_folder(folder).says.find("process 7 uses it now"), std::string::npos);
  folder.free_bytes = 1000;
  EXPECT_EQ(check_data_folder(folder).verdict, Verdict::kWarning);
  folder.service = kService;
  folder.access = {.owner = 0, .group = 0, .mode = 0700};
  const Finding of_root = check_data_folder(folder);
  EXPECT_EQ(of_root.verdict, Verdict::kFault);
  EXPECT_EQ(of_root.advice, "chown -R windrow:windrow d");
  folder.access = {.owner = 998, .group = 997, .mode = 0700};
  EXPECT_EQ(check_data_folder(folder).verdict, Verdict::kWarning);
}

TEST(DoctorOpenFiles, FewAreAWarning) {
  EXPECT_EQ(check_open_files(1024).verdict, Verdict::kWarning);
  EXPECT_EQ(check_open_files(65'536).verdict, Verdict::kOk);
}

}  // namespace
}  // namespace windrow::app
