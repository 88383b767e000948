#include "engine/background_turns.h"

#include <algorithm>

namespace windrow::engine {
namespace {

// Of the time that clients have for themselves, so much may be added to it. Prompts and places cost
// them besides (bench/serve).
constexpr double kShare = 0.15;

constexpr double kWeight = 0.1;

// One step that took very long, for whatever reason, is forgotten after some seconds.
constexpr double kDebtMaxS = 1;

}  // namespace

void BackgroundTurns::step_took(bool clients, bool background, bool prefills, Duration duration) {
  const double duration_s = seconds(duration);
  if (!clients) {
    debt_s_ = 0;  // nobody waits
    return;
  }
  if (background) {
    if (clients_alone_s_)
      debt_s_ = std::min(debt_s_ + std::max(duration_s - *clients_alone_s_, 0.0), kDebtMaxS);
    return;
  }
  debt_s_ = std::max(debt_s_ - kShare * duration_s, 0.0);
  if (prefills && clients_alone_s_) return;
  if (!clients_alone_s_) clients_alone_s_ = duration_s;
  *clients_alone_s_ += kWeight * (duration_s - *clients_alone_s_);
}

}  // namespace windrow::engine
