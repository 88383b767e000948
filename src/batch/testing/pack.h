// Compressed bytes as other people's programs make them: gzip, zstd and whatever else takes its
// input from standard input.
#pragma once

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "store/testing/temporary_folder.h"

namespace windrow::batch::testing {

// What `program` writes when it reads `bytes`; throws when it fails.
inline std::string filtered(const std::vector<std::string>& program, std::string_view bytes) {
  const store::testing::TemporaryFolder folder;
  const std::string in = folder / "in";
  const std::string out = folder / "out";
  std::ofstream(in, std::ios::binary) << bytes;

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, in.c_str(), O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, out.c_str(), O_WRONLY | O_CREAT, 0600);
  std::vector<std::string> words = program;
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words)
    arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t child = 0;
  int status = 0;
  const int spawned =
      posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (spawned != 0 || waitpid(child, &status, 0) != child || status != 0) {
    throw std::runtime_error("this test needs the program " + program.front());
  }
  std::ifstream file(out, std::ios::binary);
  std::string packed{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  return packed;
}

inline std::string gzipped(std::string_view bytes) {
  return filtered({"gzip", "-c"}, bytes);
}
inline std::string zstd_packed(std::string_view bytes) {
  return filtered({"zstd", "-q", "-c"}, bytes);
}

}  // namespace windrow::batch::testing
