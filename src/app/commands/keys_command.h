// `windrow keys`: who may ask a server (api/keys/keys.h).
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

// Appends a line to the file and prints the key: nobody can read it anywhere afterwards. A new file
// is for its owner alone; made by root it gets the owner and group of its folder, and that group
// may read it where the owner is root, so that the service can. The exit code.
int keys_add_command(const KeysAddCommand& command);

// Names and limits, and no keys: they are not in the file.
int keys_list_command(const KeysListCommand& command);

}  // namespace windrow::app
