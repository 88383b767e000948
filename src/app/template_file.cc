#include "app/template_file.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

namespace windrow::app {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

}  // namespace

Result<std::string> read_template_file(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error) || std::filesystem::is_directory(path, error)) {
    return Error{ErrorKind::kNotFound,
                 fmt::format("--chat-template {}: there is no such file, the model carries no "
                             "template of that name, and the only one built in is chatml",
                             path)};
  }
  std::ifstream file(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!file && !file.eof()) {
    return Error{ErrorKind::kIo, fmt::format("--chat-template {}: it cannot be read", path)};
  }
  if (text.starts_with(kByteOrderMark)) text.erase(0, kByteOrderMark.size());
  return text;
}

Result<void> read_piped_templates(std::vector<ModelChoice>& choices) {
  std::map<std::string, std::string> texts;  // several models may take one
  for (ModelChoice& choice : choices) {
    std::error_code error;
    const std::filesystem::file_status status =
        std::filesystem::status(choice.chat_template, error);
    if (choice.chat_template.empty() || !std::filesystem::is_other(status)) continue;
    if (!texts.contains(choice.chat_template)) {
      Result<std::string> text = read_template_file(choice.chat_template);
      if (!text) return text.error();
      texts[choice.chat_template] = *std::move(text);
    }
    choice.chat_template_text = texts[choice.chat_template];
  }
  return {};
}

}  // namespace windrow::app
