#include "batch/job_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace windrow::batch {

Result<FailureChoice> FailureChoice::parse(std::string_view text) {
  std::vector<std::string> words;
  for (std::string_view rest = text;;) {
    const size_t comma = rest.find(',');
    words.emplace_back(rest.substr(0, comma));
    if (words.back().empty()) {
      return Error{ErrorKind::kInvalid,
                   fmt::format("\"{}\" names no failures; write their codes or statuses with "
                               "commas between them, as in 429,out_of_memory",
                               text)};
    }
    if (comma == std::string_view::npos) return of(std::move(words));
    rest.remove_prefix(comma + 1);
  }
}

FailureChoice FailureChoice::of(std::vector<std::string> words) {
  FailureChoice choice;
  choice.words_ = std::move(words);
  return choice;
}

bool FailureChoice::takes(int32_t status, std::string_view code) const {
  if (all()) return true;
  const std::string number = fmt::format("{}", status);
  return std::ranges::any_of(words_, [&](const std::string& word) {
    return word == code || (status != 0 && word == number);
  });
}

}  // namespace windrow::batch
