#include "structured/formats.h"

#include <fmt/format.h>

#include <array>

#include "structured/words.h"

namespace windrow::structured {
namespace {

constexpr auto kFormats = std::to_array<std::string_view>(
    {"date", "time", "date-time", "email", "uuid", "ipv4", "ipv6", "uri", "hostname", "duration"});

std::string some(Random& random, std::string_view letters, uint64_t min, uint64_t max) {
  std::string text;
  for (uint64_t left = min + random.below(max - min + 1); left > 0; --left)
    text += letters[random.below(letters.size())];
  return text;
}

constexpr std::string_view kLower = "abcdefghijklmnopqrstuvwxyz";
constexpr std::string_view kLowerDigits = "abcdefghijklmnopqrstuvwxyz0123456789";
constexpr std::string_view kHex = "0123456789abcdef";

std::string date(Random& random) {
  constexpr std::array<int64_t, 12> kDays{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  if (random.chance(0.1)) {  // a leap day
    constexpr std::array<int, 5> kLeaps{1996, 2000, 2024, 2400, 1904};
    return fmt::format("{}-02-29", kLeaps[random.below(kLeaps.size())]);
  }
  const int64_t month = random.between(1, 12);
  return fmt::format("{:04}-{:02}-{:02}", random.between(1000, 2999), month,
                     random.between(1, kDays[static_cast<size_t>(month - 1)]));
}

std::string time(Random& random) {
  std::string text = fmt::format("{:02}:{:02}:{:02}", random.between(0, 23), random.between(0, 59),
                                 random.between(0, 59));
  if (random.chance(0.3)) text += "." + some(random, "0123456789", 1, 6);
  if (random.chance(0.6)) return text + "Z";
  return text + fmt::format("{}{:02}:{:02}", random.chance(0.5) ? '+' : '-', random.between(0, 14),
                            random.between(0, 3) * 15);
}

std::string hostname(Random& random) {
  std::string text;
  for (uint64_t labels = random.below(3) + 1; labels > 0; --labels) {
    text += some(random, kLower, 1, 6);
    if (random.chance(0.3)) text += "-" + some(random, kLowerDigits, 1, 4);
    text += '.';
  }
  return text + some(random, kLower, 2, 5);
}

std::string ipv4(Random& random) {
  return fmt::format("{}.{}.{}.{}", random.below(256), random.below(256), random.below(256),
                     random.below(256));
}

std::string ipv6(Random& random) {
  const uint64_t groups = random.chance(0.5) ? 8 : random.below(7);
  const uint64_t gap = groups == 8 ? 9 : random.below(groups + 1);
  if (groups == 0) return "::";
  std::string text;
  for (uint64_t i = 0; i < groups; ++i) {
    if (i == gap) {
      text += "::";
    } else if (i > 0) {
      text += ':';
    }
    text += some(random, kHex, 1, 4);
  }
  return gap == groups ? text + "::" : text;
}

std::string uuid(Random& random) {
  std::string text;
  for (const uint64_t length : {8U, 4U, 4U, 4U, 12U})
    text += (text.empty() ? "" : "-") + some(random, kHex, length, length);
  return text;
}

std::string uri(Random& random) {
  constexpr auto kSchemes = std::to_array<std::string_view>({"https", "http", "ftp", "urn", "s3"});
  const std::string_view scheme = pick(random, std::span<const std::string_view>(kSchemes));
  if (scheme == "urn") return "urn:isbn:" + some(random, "0123456789", 10, 13);
  std::string text = fmt::format("{}://{}", scheme, hostname(random));
  if (random.chance(0.2)) text += fmt::format(":{}", random.between(1, 65535));
  for (uint64_t parts = random.below(4); parts > 0; --parts)
    text += "/" + some(random, kLowerDigits, 1, 8);
  if (random.chance(0.3)) text += "?q=" + some(random, kLowerDigits, 0, 5) + "&n=%C3%A9";
  if (random.chance(0.2)) text += "#" + some(random, kLower, 1, 5);
  return text;
}

std::string duration(Random& random) {
  if (random.chance(0.15)) return fmt::format("P{}W", random.below(60));
  // Units that stand side by side: none may be left out between two.
  constexpr std::string_view kDay = "YMD";
  constexpr std::string_view kTime = "HMS";
  const auto run = [&](std::string_view units) {
    const uint64_t first = random.below(units.size());
    const uint64_t count = 1 + random.below(units.size() - first);
    std::string text;
    for (const char unit : units.substr(first, count))
      text += fmt::format("{}{}", random.below(400), unit);
    return text;
  };
  switch (random.below(3)) {
    case 0:
      return "P" + run(kDay);
    case 1:
      return "PT" + run(kTime);
    default:
      return "P" + run(kDay) + "T" + run(kTime);
  }
}

}  // namespace

std::span<const std::string_view> format_names() {
  return kFormats;
}

std::string format_text(std::string_view format, Random& random) {
  if (format == "date") return date(random);
  if (format == "time") return time(random);
  if (format == "date-time") return date(random) + "T" + time(random);
  if (format == "email") {
    return some(random, kLowerDigits, 1, 8) + (random.chance(0.4) ? ".x+tag" : "") + "@" +
           hostname(random);
  }
  if (format == "uuid") return uuid(random);
  if (format == "ipv4") return ipv4(random);
  if (format == "ipv6") return ipv6(random);
  if (format == "uri") return uri(random);
  if (format == "hostname") return hostname(random);
  return duration(random);
}

}  // namespace windrow::structured
