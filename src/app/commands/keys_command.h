// `windrow keys`: the API keys of a server (api/keys/keys.h).
#pragma once

#include <string>

namespace windrow::app {

struct KeysAddCommand {
  std::string file;
  std::string name;
  std::string limits;  // as the file has them: "rpm=600 priority=batch"
  bool json = false;
};

struct KeysListCommand {
  std::string file;
  bool json = false;
};

// Appends a line to the file and prints the key, which cannot be read anywhere afterwards. Returns
// the exit code. A new file can be read by its owner alone; created by root it gets the owner and
// group of its folder, and that group may read it where the owner is root, so that the service can.
int keys_add_command(const KeysAddCommand& command);

// Prints names and limits. Keys are not in the file. Returns the exit code.
int keys_list_command(const KeysListCommand& command);

}  // namespace windrow::app
