// The flags of the commands that have few of them: `run` and `retry` beside their settings, and
// `status`, `compare`, `inspect`, `tokenize`, `sessions`, `ps`, `chat`, `config show` and `keys`;
// and the texts of --help, made from all flags and from the table of settings (help.cc).
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "app/commands/command_line.h"
#include "app/commands/flag_table.h"
#include "app/commands/help_page.h"

namespace windrow::app {

// In the order of the help.
std::span<const Flag<RunCommand>> run_flags();
std::span<const Flag<ExecCommand>> exec_flags();
std::span<const Flag<RetryCommand>> retry_flags();
std::span<const Flag<ExportCommand>> export_flags();
std::span<const Flag<StatusCommand>> status_flags();
std::span<const Flag<CompareCommand>> compare_flags();
std::span<const Flag<InspectCommand>> inspect_flags();
std::span<const Flag<TokenizeCommand>> tokenize_flags();
std::span<const Flag<MemoryCommand>> memory_flags();
std::span<const Flag<SessionsCommand>> sessions_flags();
std::span<const Flag<PsCommand>> ps_flags();
std::span<const Flag<ChatCommand>> chat_flags();

// The settings that `windrow memory` takes: of models, servers, banks and the console.
bool is_of_memory(const SettingRow& row);

// The settings that `windrow doctor` takes: what decides whether a server could start.
bool is_of_doctor(const SettingRow& row);

// The settings that `windrow chat` takes: of a model in this process, requests and the console.
bool is_of_chat(const SettingRow& row);

std::span<const Flag<ConfigShowCommand>> config_show_flags();
std::span<const Flag<KeysAddCommand>> keys_add_flags();
std::span<const Flag<KeysListCommand>> keys_list_flags();

std::string help_text(size_t width = kHelpWidth);
std::string run_help_text(size_t width = kHelpWidth);
std::string exec_help_text(size_t width = kHelpWidth);
std::string retry_help_text(size_t width = kHelpWidth);
std::string export_help_text(size_t width = kHelpWidth);
std::string serve_help_text(size_t width = kHelpWidth);
std::string status_help_text(size_t width = kHelpWidth);
std::string compare_help_text(size_t width = kHelpWidth);
std::string inspect_help_text(size_t width = kHelpWidth);
std::string doctor_help_text(size_t width = kHelpWidth);
std::string tokenize_help_text(size_t width = kHelpWidth);
std::string memory_help_text(size_t width = kHelpWidth);
std::string sessions_help_text(size_t width = kHelpWidth);
std::string ps_help_text(size_t width = kHelpWidth);
std::string chat_help_text(size_t width = kHelpWidth);
std::string config_help_text(size_t width = kHelpWidth);
std::string keys_help_text(size_t width = kHelpWidth);
std::string probe_help_text(size_t width = kHelpWidth);
std::string rpc_worker_help_text(size_t width = kHelpWidth);
std::string sim_upstream_help_text(size_t width = kHelpWidth);

}  // namespace windrow::app
