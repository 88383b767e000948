// Why schemas fail, by the keyword and the sentence of their errors, so that many messages become a
// short table.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

namespace windrow::bench {

class Causes {
 public:
  // `message`: "at #/properties/a/not: 12 patterns ...". Quoted words and numbers do not count.
  void add(std::string_view verdict, std::string_view message);

  // A table, the most frequent first.
  void print() const;

 private:
  std::map<std::string, size_t> counts_;
};

}  // namespace windrow::bench
