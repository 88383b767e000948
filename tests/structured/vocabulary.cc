#include "structured/vocabulary.h"

#include "base/random.h"
#include "structured/instance.h"
#include "structured/shape_maker.h"
#include "structured/words.h"

namespace windrow::structured {

Vocabulary random_vocabulary(uint64_t seed, size_t tokens_count) {
  Random random(seed);
  std::string text;
  for (uint64_t i = 0; text.size() < 50'000; ++i) {
    const SchemaCase schema = make_schema(1 + static_cast<int>(i % kLevels), seed + i);
    text += compact(make_instance(schema, random)) + "\n  " + prose(random, 40);
  }
  Vocabulary made;
  for (int byte = 0; byte < 256; ++byte)
    made.bytes.emplace_back(1, static_cast<char>(byte));
  for (int i = 0; i < 3; ++i)
    made.bytes.emplace_back();
  made.end_tokens = {256, 258};  // 257 is another control token
  while (made.bytes.size() < tokens_count) {
    const size_t length = 2 + random.below(random.chance(0.05) ? 40 : 7);
    made.bytes.push_back(text.substr(random.below(text.size() - length), length));
  }
  return made;
}

}  // namespace windrow::structured
