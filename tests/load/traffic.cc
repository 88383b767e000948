#include "load/traffic.h"

#include <fmt/format.h>

#include <functional>
#include <thread>

#include "base/random.h"
#include "load/bad_client.h"

namespace windrow::load {

void run_traffic(http::Client& client, const std::vector<Question>& questions,
                 const TrafficOptions& options, Findings& findings) {
  const SystemClock clock;
  const TimePoint end = clock.now() + options.time;
  const std::string base = fmt::format("http://127.0.0.1:{}", options.port);
  std::vector<std::jthread> threads;
  const auto start = [&](int number, const std::function<void(Random&)>& act) {
    threads.emplace_back([&, act, number] {
      Random random(options.seed * 1000 + static_cast<uint64_t>(number));
      while (clock.now() < end)
        act(random);
    });
  };
  for (int i = 0; i < options.good; ++i)
    start(i, [&](Random& random) { ask_one(client, base, questions, random, findings); });
  for (int i = 0; i < options.bad; ++i) {
    start(options.good + i, [&](Random& random) {
      const auto mischief = static_cast<Mischief>(random.below(kMischiefs));
      const std::string said = misbehave(mischief, options.port, random);
      if (!said.empty()) findings.add_wrong(said);
    });
  }
}

}  // namespace windrow::load
