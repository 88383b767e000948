#include "grammar/lexeme/formats.h"

#include <array>
#include <mutex>

#include "base/ensure.h"
#include "grammar/lexeme/format_patterns.h"
#include "grammar/lexeme/regex.h"

namespace windrow::grammar {
namespace {

struct Format {
  std::string_view name;
  std::string (*pattern)();
  std::string_view narrower = {};  // the format whose texts are of this one too
};

constexpr Format kFormats[] = {
    {"date", date_pattern},
    {"time", time_pattern},
    {"date-time", date_time_pattern},
    {"duration", duration_pattern},
    {"email", email_pattern},
    {"hostname", hostname_pattern},
    {"ipv4", ipv4_pattern},
    {"ipv6", ipv6_pattern},
    {"uri", uri_pattern},
    {"uuid", uuid_pattern},
    {"uri-reference", uri_reference_pattern},
    {"uri-template", uri_template_pattern},
    {"iri", iri_pattern},
    {"iri-reference", iri_reference_pattern},
    {"json-pointer", json_pointer_pattern},
    {"relative-json-pointer", relative_json_pointer_pattern},
    {"idn-email", idn_email_pattern, "email"},
    {"idn-hostname", idn_hostname_pattern, "hostname"},
    {"regex", regex_pattern},
    {"byte", byte_pattern},
};

struct Made {
  std::once_flag once;
  CharDfa dfa;
};

}  // namespace

const CharDfa* format_dfa(std::string_view name) {
  static std::array<Made, std::size(kFormats)> made;
  for (size_t i = 0; i < std::size(kFormats); ++i) {
    if (kFormats[i].name != name) continue;
    std::call_once(made[i].once, [i] {
      auto dfa = regex_dfa(kFormats[i].pattern(), RegexMeaning::kWhole);
      if (const std::string_view narrower = kFormats[i].narrower; dfa && !narrower.empty())
        dfa = dfa->unite(*format_dfa(narrower));
      ENSURE(dfa.has_value(), "{}: {}", kFormats[i].name, dfa.error().message);
      made[i].dfa = std::move(*dfa);
    });
    return &made[i].dfa;
  }
  return nullptr;
}

std::vector<std::string> known_formats() {
  std::vector<std::string> names;
  for (const Format& format : kFormats)
    names.emplace_back(format.name);
  return names;
}

}  // namespace windrow::grammar
