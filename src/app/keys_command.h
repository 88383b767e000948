// `windrow keys`: who may ask a server (api/keys.h).
#pragma once

#include <string>

namespace windrow::app {

struct KeysAddCommand {
  std::string file;
  std::string name;
  std::string limits;  // as the file has them: "rpm=600 priority=batch"
};

struct KeysListCommand {
  std::string file;
  bool json = false;
};

// Appends a line to the file, which is made for its owner alone if it is not there, and prints the
// key: nobody can read it anywhere afterwards. The exit code.
int keys_add_command(const KeysAddCommand& command);

// Names and limits, and no keys: they are not in the file.
int keys_list_command(const KeysListCommand& command);

}  // namespace windrow::app
