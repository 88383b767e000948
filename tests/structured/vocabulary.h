// A small vocabulary that is meant to be difficult: every byte, and many tokens that begin and end
// anywhere in JSON texts, within UTF-8 characters too; control tokens, doubles, long ones. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace windrow::structured {

struct Vocabulary {
  std::vector<std::string> bytes;  // of each token; control tokens have none
  std::vector<int32_t> end_tokens;
};

Vocabulary random_vocabulary(uint64_t seed, size_t tokens_count);

}  // namespace windrow::structured
