// Whether the words of a command line are a whole command: nothing is missing, and no flag is there
// that means nothing to it. kInvalid with what to write. Pure.
#pragma once

#include <string_view>

#include "app/commands/command_line.h"
#include "base/result.h"

namespace windrow::app {

// A word is missing.
Error needed(std::string_view text);

Result<void> check_run(const RunCommand& command);
Result<void> check_exec(const ExecCommand& command);
Result<void> check_retry(const RetryCommand& command);
Result<void> check_compare(const CompareCommand& command);
Result<void> check_export(const ExportCommand& command);
Result<void> check_status(const StatusCommand& command);
Result<void> check_inspect(const InspectCommand& command);
Result<void> check_tokenize(const TokenizeCommand& command);
Result<void> check_keys_add(const KeysAddCommand& command);
Result<void> check_keys_list(const KeysListCommand& command);
Result<void> check_memory(const MemoryCommand& command);
Result<void> check_sessions(const SessionsCommand& command);
Result<void> check_chat(const ChatCommand& command);

}  // namespace windrow::app
