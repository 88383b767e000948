#include "program/context/seeds.h"

#include "base/random.h"

namespace windrow::program {
namespace {

// What a seed is made for. Different numbers, so that the first branch of a fork is not also its
// first answer.
constexpr uint64_t kNext = 0x6E657874;
constexpr uint64_t kPart = 0x70617274;

// One to one, and no pattern of the input is left.
uint64_t mixed(uint64_t value) {
  return Random(value).next();
}

// For one purpose and index it is one to one in `seed`. Both are mixed before they meet: the sum of
// a seed and an index would make neighbouring seeds give the same sequence, shifted.
uint64_t derived(uint64_t seed, uint64_t purpose, uint64_t index) {
  return mixed(mixed(seed) ^ mixed(mixed(purpose) + index));
}

}  // namespace

uint64_t SeedPath::next() {
  return derived(seed_, kNext, given_++);
}

uint64_t SeedPath::part_of(uint64_t seed, uint64_t index) {
  return derived(seed, kPart, index);
}

}  // namespace windrow::program
