#include "app/stop_relay.h"

#include <gtest/gtest.h>

namespace windrow::app {
namespace {

struct Calls {
  int stop = 0;
  int stop_now = 0;

  StopRelay::Target target() {
    return {.stop = [this] { ++stop; }, .stop_now = [this] { ++stop_now; }};
  }
};

TEST(StopRelay, PassesOnWhatIsAsked) {
  StopRelay relay;
  Calls calls;
  const StopRelay::Attachment attachment(relay, calls.target());
  EXPECT_FALSE(relay.stopping());
  relay.stop();
  EXPECT_TRUE(relay.stopping());
  EXPECT_EQ(calls.stop, 1);
  EXPECT_EQ(calls.stop_now, 0);
  relay.stop_now();
  EXPECT_EQ(calls.stop_now, 1);
}

TEST(StopRelay, RemembersWhatWasAskedBeforeAnybodyHeard) {
  StopRelay relay;
  relay.stop();
  Calls calls;
  const StopRelay::Attachment attachment(relay, calls.target());
  EXPECT_EQ(calls.stop, 1);
}

TEST(StopRelay, CallsNobodyAfterTheEnd) {
  StopRelay relay;
  Calls calls;
  {
    const StopRelay::Attachment attachment(relay, calls.target());
  }
  relay.stop();
  relay.stop_now();
  EXPECT_EQ(calls.stop, 0);
  EXPECT_EQ(calls.stop_now, 0);
  EXPECT_TRUE(relay.stopping());
}

}  // namespace
}  // namespace windrow::app
