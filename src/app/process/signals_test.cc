#include "app/process/signals.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <future>
#include <string>

namespace windrow::app {
namespace {

// Runs `body` in a process of its own, whose exit code it gives.
template <class Body>
int in_child(Body body) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : WEXITSTATUS(status);
}

TEST(SignalWatch, TheFirstSignalStopsAndTheSecondStopsNow) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    EXPECT_EQ(in_child([&] {
                std::promise<std::string> stopped;
                std::promise<void> stopped_now;
                const SignalWatch watch(
                    [&](std::string_view name) { stopped.set_value(std::string(name)); },
                    [&] { stopped_now.set_value(); });
                kill(getpid(), signal);
                const std::string name = stopped.get_future().get();
                kill(getpid(), SIGTERM);
                stopped_now.get_future().get();
                const std::string expected = signal == SIGINT    ? "SIGINT"
                                             : signal == SIGTERM ? "SIGTERM"
                                                                 : "SIGHUP";
                return name == expected ? 7 : 1;
              }),
              7);
  }
}

TEST(SignalWatch, AServerReadsItsFilesAgainAsOftenAsItIsTold) {
  EXPECT_EQ(in_child([] {
              std::promise<void> twice;
              std::promise<std::string> stopped;
              int reloads = 0;
              const SignalWatch watch(
                  [&](std::string_view name) { stopped.set_value(std::string(name)); }, [] {},
                  [&] {
                    if (++reloads == 1) kill(getpid(), SIGHUP);
                    if (reloads == 2) twice.set_value();
                  });
              kill(getpid(), SIGHUP);
              twice.get_future().get();
              kill(getpid(), SIGTERM);
              return stopped.get_future().get() == "SIGTERM" ? 7 : 1;
            }),
            7);
}

TEST(SignalWatch, TheThirdSignalEndsTheProcess) {
  EXPECT_EQ(in_child([] {
              std::promise<void> stopped;
              std::promise<void> stopped_now;
              const SignalWatch watch([&](std::string_view) { stopped.set_value(); },
                                      [&] { stopped_now.set_value(); });
              kill(getpid(), SIGINT);
              stopped.get_future().get();
              kill(getpid(), SIGINT);
              stopped_now.get_future().get();
              kill(getpid(), SIGINT);
              for (;;)
                pause();
              return 1;
            }),
            1000 + SIGINT);
}

TEST(SignalWatch, WhatNohupIgnoresStaysIgnored) {
  EXPECT_EQ(in_child([] {
              std::signal(SIGHUP, SIG_IGN);
              std::promise<std::string> stopped;
              const SignalWatch watch(
                  [&](std::string_view name) { stopped.set_value(std::string(name)); }, [] {});
              kill(getpid(), SIGHUP);
              kill(getpid(), SIGTERM);
              return stopped.get_future().get() == "SIGTERM" ? 7 : 1;
            }),
            7);
}

TEST(SignalWatch, AClosedPipeIsAnErrorOfTheWrite) {
  EXPECT_EQ(in_child([] {
              const SignalWatch watch([](std::string_view) {}, [] {});
              int ends[2];
              if (pipe(ends) != 0) return 1;
              close(ends[0]);
              return write(ends[1], "x", 1) == -1 && errno == EPIPE ? 7 : 2;
            }),
            7);
}

TEST(SignalWatch, AfterwardsSignalsAreWhatTheyWere) {
  EXPECT_EQ(in_child([] {
              {
                const SignalWatch watch([](std::string_view) {}, [] {});
              }
              raise(SIGINT);
              return 1;
            }),
            1000 + SIGINT);
}

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

TEST(StopRelay, CallsNothingAfterTheEnd) {
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
