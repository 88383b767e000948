#include "app/commands/doctor_facts.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "store/posix_disk.h"
#include "store/testing/temporary_folder.h"

namespace windrow::app {
namespace {

TEST(DoctorFacts, ThisMachineHasAProcessorMemoryAndLibllama) {
  EXPECT_GE(cpu_facts().cores, 1);
  const MemoryFacts memory = memory_facts();
  EXPECT_GT(memory.total_bytes, memory.available_bytes);
  EXPECT_GT(usable_memory(memory), 0U);
  const LibraryFacts library = library_facts(nullptr, "a reason");
  EXPECT_EQ(library.failure, "a reason");
  EXPECT_TRUE(library.tested.starts_with("libllama0 ")) << library.tested;
  EXPECT_NE(library.tested.find(", libggml0 "), std::string::npos) << library.tested;
  EXPECT_NE(library.built_against.find("libllama"), std::string::npos);
  EXPECT_NE(library.path.find("libllama.so"), std::string::npos);
}

// A listening socket of this test.
class TakenPort {
 public:
  TakenPort() : descriptor_(::socket(AF_INET, SOCK_STREAM, 0)) {
    address_.sin_family = AF_INET;
    address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address_);
    auto* general = reinterpret_cast<sockaddr*>(&address_);
    is_open_ = ::bind(descriptor_, general, size) == 0 && ::listen(descriptor_, 1) == 0 &&
               ::getsockname(descriptor_, general, &size) == 0;
  }
  ~TakenPort() { ::close(descriptor_); }
  TakenPort(const TakenPort&) = delete;
  TakenPort& operator=(const TakenPort&) = delete;

  bool is_open() const { return is_open_; }
  uint16_t port() const { return ntohs(address_.sin_port); }

 private:
  int descriptor_;
  sockaddr_in address_{};
  bool is_open_ = false;
};

TEST(DoctorFacts, AnAddressIsFreeOrInUseOrNotHere) {
  const TakenPort taken;
  ASSERT_TRUE(taken.is_open());
  const AddressFacts in_use = address_facts({.host = "127.0.0.1", .port = taken.port()});
  EXPECT_EQ(in_use.state, AddressState::kInUse) << in_use.why;
  EXPECT_EQ(address_facts({.host = "127.0.0.1", .port = 0}).state, AddressState::kFree);
  // Of the block for documentation, which no machine has.
  EXPECT_EQ(address_facts({.host = "192.0.2.1", .port = 8080}).state, AddressState::kNotHere);
}

TEST(DoctorFacts, AFolderIsLookedAtAndNotMade) {
  const store::testing::TemporaryFolder folder;
  store::PosixDisk disk;
  const FolderFacts here = folder_facts(folder.path(), disk);
  EXPECT_TRUE(here.exists);
  EXPECT_TRUE(here.writable);
  EXPECT_GT(here.free_bytes, 0U);
  EXPECT_TRUE(here.holder.empty());

  const std::string below = folder / "a/b";
  const FolderFacts absent = folder_facts(below, disk);
  EXPECT_FALSE(absent.exists);
  EXPECT_TRUE(absent.can_be_made);
  EXPECT_FALSE(disk.exists(folder / "a"));

  const auto lock = disk.lock(folder / "server.lock");
  ASSERT_TRUE(lock.has_value());
  EXPECT_FALSE(folder_facts(folder.path(), disk).holder.empty());
}

TEST(DoctorFacts, AKeyFileIsReadAsAServerReadsIt) {
  const store::testing::TemporaryFolder folder;
  store::PosixDisk disk;
  const std::string file = folder / "keys.txt";
  EXPECT_FALSE(key_file_facts(file, disk).failure.empty());
  std::ofstream(file) << "# none yet\n";
  const KeyFileFacts empty = key_file_facts(file, disk);
  EXPECT_EQ(empty.failure, "");
  EXPECT_EQ(empty.keys, 0U);
  std::ofstream(file) << "not a line of keys\n";
  EXPECT_NE(key_file_facts(file, disk).failure.find("keys.txt"), std::string::npos);
}

TEST(DoctorFacts, AModelIsNamedByWhatItIs) {
  const fleet::EngineOptions options;
  EXPECT_TRUE(model_facts(nullptr, {.path = "hf:a/b/c.gguf"}, options).is_remote);
  const CheckedModel simulated = model_facts(nullptr, {.path = "sim:memory-mb=800"}, options);
  EXPECT_EQ(simulated.failure, "");
  EXPECT_EQ(simulated.description, "simulated");
  EXPECT_EQ(simulated.bytes, 800'000'000U);
  EXPECT_NE(model_facts(nullptr, {.path = "sim:no-such-option=1"}, options).failure, "");
  EXPECT_NE(model_facts(nullptr, {.path = "m.gguf"}, options).failure, "");
}

}  // namespace
}  // namespace windrow::app
