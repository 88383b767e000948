#include "engine/host/embedding_runner.h"

namespace windrow::engine {

std::string_view to_string(Pooling pooling) {
  switch (pooling) {
    case Pooling::kMean:
      return "mean";
    case Pooling::kCls:
      return "cls";
    case Pooling::kLast:
      return "last";
    case Pooling::kRank:
      return "rank";
  }
  return "unknown";
}

std::optional<Pooling> parse_pooling(std::string_view name) {
  for (const Pooling pooling : {Pooling::kMean, Pooling::kCls, Pooling::kLast, Pooling::kRank}) {
    if (to_string(pooling) == name) return pooling;
  }
  return std::nullopt;
}

}  // namespace windrow::engine
