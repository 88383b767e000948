#include "app/commands/memory_input.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>

#include "api/memory/memory_requests.h"
#include "json/parse.h"
#include "memory/retain/retain_rules.h"

namespace windrow::app {
namespace {

struct CloseInput {
  void operator()(std::FILE* file) const {
    if (file != stdin) std::fclose(file);
  }
};

Result<std::string> read_input(const std::string& path, bool standard, const std::string& name) {
  const auto failed = [&](int error) {
    return Error{ErrorKind::kInvalid,
                 fmt::format("cannot read {}: {}; give the file with the facts", name,
                             std::generic_category().message(error))};
  };
  const std::unique_ptr<std::FILE, CloseInput> file(standard ? stdin
                                                             : std::fopen(path.c_str(), "rb"));
  if (!file) return failed(errno);
  std::string text;
  std::array<char, 1 << 16> buffer{};
  while (const size_t bytes = std::fread(buffer.data(), 1, buffer.size(), file.get()))
    text.append(buffer.data(), bytes);
  if (std::ferror(file.get()) != 0) return failed(errno);
  return text;
}

// What is left of it is not blank.
std::string_view without_blanks_around(std::string_view line) {
  constexpr std::string_view kBlanksOfLine = " \t\r";
  line.remove_prefix(std::min(line.find_first_not_of(kBlanksOfLine), line.size()));
  return line.substr(0, line.find_last_not_of(kBlanksOfLine) + 1);
}

// The message of a request's failure, with the member. A line has one item, so its number among the
// items of a request says nothing.
Error of_item(const llm::Failure& failure) {
  constexpr std::string_view kPlace = "items[0].";
  const auto within_item = [&](const std::string& text) {
    return text.starts_with(kPlace) ? text.substr(kPlace.size()) : text;
  };
  const std::string message = within_item(failure.message);
  const std::string member = within_item(failure.param);
  const bool is_named = message.find(member.substr(0, member.find('['))) != std::string::npos;
  return Error{ErrorKind::kInvalid, is_named ? message : fmt::format("{}: {}", member, message)};
}

Result<memory::RetainItem> item_of_line(std::string_view line,
                                        const std::vector<std::string>& tags) {
  memory::RetainItem item;
  if (line.starts_with('{')) {
    auto parsed = parse_json(line);
    if (const auto* fault = std::get_if<JsonFault>(&parsed)) {
      return Error{ErrorKind::kInvalid,
                   fmt::format("it begins as an object and is not JSON: {} near byte {}",
                               fault->reason, fault->byte)};
    }
    boost::json::array items;
    items.push_back(std::move(std::get<boost::json::value>(parsed)));
    auto read = api::read_retain({{"items", std::move(items)}});
    if (const auto* failure = std::get_if<llm::Failure>(&read)) return of_item(*failure);
    item = std::move(std::get<api::RetainRequest>(read).items.front());
  } else {
    item.content = line;
  }
  if (!tags.empty()) {
    std::vector<std::string> all = item.tags.list();
    all.insert(all.end(), tags.begin(), tags.end());
    item.tags = memory::Tags(std::move(all));
  }
  if (const std::optional<llm::Failure> fault = memory::fault_of({item})) return of_item(*fault);
  return item;
}

}  // namespace

Result<MemoryInput> read_memory_input(const std::string& path,
                                      const std::vector<std::string>& tags) {
  const bool standard = path.empty() || path == "-";
  const std::string name = standard ? "standard input" : path;
  const Result<std::string> text = read_input(path, standard, name);
  if (!text) return text.error();
  MemoryInput input;
  size_t number = 0;
  for (size_t at = 0; at < text->size();) {
    const size_t end = std::min(text->find('\n', at), text->size());
    const std::string_view line =
        without_blanks_around(std::string_view(*text).substr(at, end - at));
    at = end + 1;
    ++number;
    if (line.empty()) continue;
    Result<memory::RetainItem> item = item_of_line(line, tags);
    if (!item) return item.error().in(fmt::format("{}: line {}", name, number));
    input.items.push_back(*std::move(item));
    input.lines.push_back(number);
  }
  return input;
}

}  // namespace windrow::app
