#include "schema/pattern.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <utility>

#include "schema/ecma_pattern.h"

namespace windrow::schema {

Result<Pattern> Pattern::compile(std::string_view ecma) {
  Result<std::string> translated = ecma_to_re2(ecma);
  if (!translated) return translated.error();
  RE2::Options options;
  options.set_log_errors(false);
  options.set_never_capture(true);
  auto program = std::make_shared<const RE2>(translated.value(), options);
  if (!program->ok()) {
    return Error{ErrorKind::kInvalid, program->error_code() == RE2::ErrorPatternTooLarge
                                          ? "is too large to be judged"
                                      : program->error_code() == RE2::ErrorRepeatSize
                                          ? "repeats too often: counted repetitions within each "
                                            "other may come to 1000; make them smaller"
                                          : fmt::format("cannot be judged ({})", program->error())};
  }
  return Pattern(std::string(ecma), std::move(program));
}

Pattern::Pattern(std::string source, std::shared_ptr<const re2::RE2> program)
    : source_(std::move(source)), program_(std::move(program)) {}

bool Pattern::found_in(std::string_view text) const {
  const re2::StringPiece piece(text.data(), text.size());
  return program_->Match(piece, 0, piece.size(), RE2::UNANCHORED, nullptr, 0);
}

size_t Pattern::size() const {
  return static_cast<size_t>(program_->ProgramSize());
}

}  // namespace windrow::schema
