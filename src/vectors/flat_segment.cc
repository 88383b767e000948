#include "vectors/flat_segment.h"

namespace windrow::vectors {

FlatSegment::FlatSegment(size_t dimension) : dimension_(dimension) {}

}  // namespace windrow::vectors
