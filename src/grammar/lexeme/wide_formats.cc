#include <array>
#include <iterator>
#include <mutex>

#include "base/ensure.h"
#include "grammar/lexeme/formats.h"
#include "grammar/lexeme/regex.h"

namespace windrow::grammar {
namespace {

struct WideFormat {
  std::string_view name;
  std::string_view pattern;  // empty: the format itself is as wide as its standard
};

// Each has all texts of its standard, and others that look like them.
constexpr WideFormat kWideFormats[] = {
    {"date", R"(\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01]))"},
    {"time", R"(\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d))"},
    {"date-time", R"(\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d))"},
    {"duration", R"(P(?:\d+[YMDW])*(?:T(?:\d+[HMS])+)?)"},
    {"email", R"([^]*@[^]*)"},
    {"idn-email", R"([^]*@[^]*)"},
    {"hostname", R"((?:[A-Za-z0-9]|[A-Za-z0-9][A-Za-z0-9-]*[A-Za-z0-9]))"
                 R"((?:\.(?:[A-Za-z0-9]|[A-Za-z0-9][A-Za-z0-9-]*[A-Za-z0-9]))*\.?)"},
    {"idn-hostname", R"([A-Za-z0-9.\-\u0080-\u{10FFFF}]+)"},
    {"ipv4", ""},
    {"ipv6", ""},
    {"uri", R"([A-Za-z][A-Za-z0-9+.-]*:[!-~]*)"},
    {"uri-reference", R"([!-~]*)"},
    {"iri", R"([A-Za-z][A-Za-z0-9+.-]*:[!-~\u0080-\u{10FFFF}]*)"},
    {"iri-reference", R"([!-~\u0080-\u{10FFFF}]*)"},
    {"uri-template", R"([^\u0000-\u0020"<>\\\^`|\u007F]*)"},
    {"json-pointer", ""},
    {"relative-json-pointer", R"(\d+(?:[+-]\d+)?(?:#|(?:/(?:[^/~]|~[01])*)*))"},
    {"uuid", ""},
    {"byte", R"((?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?)"},
};

struct WideMade {
  std::once_flag once;
  CharDfa dfa;
};

}  // namespace

const CharDfa* widest_format_dfa(std::string_view name) {
  static std::array<WideMade, std::size(kWideFormats)> made;
  for (size_t i = 0; i < std::size(kWideFormats); ++i) {
    if (kWideFormats[i].name != name) continue;
    if (kWideFormats[i].pattern.empty()) return format_dfa(name);
    std::call_once(made[i].once, [i] {
      auto dfa = regex_dfa(kWideFormats[i].pattern, RegexMeaning::kWhole);
      ENSURE(dfa.has_value(), "{}: {}", kWideFormats[i].name, dfa.error().message);
      made[i].dfa = std::move(*dfa);
    });
    return &made[i].dfa;
  }
  return nullptr;
}

}  // namespace windrow::grammar
