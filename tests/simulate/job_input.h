// A drawn file of requests, and the outcome that each of its lines must have.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/random.h"

namespace windrow::simulate {

struct InputLine {
  enum class Kind : uint8_t {
    kBlank,
    kRow,      // is answered with its word
    kTooLong,  // the server refuses it
    kNoUrl,    // refused here, under its name
    kUnnamed,  // refused here: rubbish, or a line without custom_id
    kSecond,   // has the custom_id of an earlier line
  };

  Kind kind = Kind::kBlank;
  std::string text;       // with its line end
  std::string custom_id;  // kRow, kTooLong, kNoUrl, kSecond
  std::string word;       // kRow, kTooLong: "word-17"; several rows may ask the same
  std::string error;      // the code of its line in the errors; empty for kRow
};

struct JobInput {
  std::vector<InputLine> lines;  // the first one is line 1

  std::string text() const;

  // Rows whose request another row has, too: so many may wait for another's answer.
  int64_t equal_rows() const;
};

// About `rows` lines.
JobInput draw_input(Random& random, int64_t rows);

}  // namespace windrow::simulate
