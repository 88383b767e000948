#include "model_store/model_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>
#include <utility>

#include "base/hash.h"
#include "base/text_encoding.h"
#include "http/headers.h"

namespace windrow::model_store {
namespace {

constexpr std::string_view kHubPrefix = "hf:";
constexpr std::string_view kHashMark = "sha256=";
constexpr std::string_view kEnding = ".gguf";
constexpr size_t kHashDigits = 64;
constexpr int kPartsMax = 1000;

// "-00001-of-00003.gguf".
constexpr std::string_view kOf = "-of-";
constexpr size_t kPartDigits = 5;
constexpr size_t kPartBytes = 1 + 2 * kPartDigits + kOf.size() + kEnding.size();

Error refuse(std::string_view text, std::string_view why) {
  return {ErrorKind::kInvalid, fmt::format("{}: {}", text, why)};
}

bool starts_with_word(std::string_view text, std::string_view word) {
  return http::same_ignoring_case(text.substr(0, word.size()), word);
}

bool is_model_file(std::string_view name) {
  return name.size() > kEnding.size() &&
         http::same_ignoring_case(name.substr(name.size() - kEnding.size()), kEnding);
}

bool is_plain(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.';
}

// As one name in a folder.
std::string as_name(std::string_view text) {
  std::string name(text);
  std::ranges::replace_if(name, [](char c) { return !is_plain(c); }, '_');
  if (name.starts_with('.')) name.front() = '_';
  return name;
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (;;) {
    const size_t end = text.find(at);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

// Every part of a path is a name, and none leads out of its folder.
bool is_path(std::string_view path) {
  return std::ranges::all_of(split(path, '/'), [](std::string_view name) {
    return !name.empty() && name != "." && name != ".." && std::ranges::none_of(name, [](char c) {
      return static_cast<unsigned char>(c) < 0x20 || c == '\\' || c == '\x7f';
    });
  });
}

std::optional<std::string> as_hash(std::string_view text) {
  std::string hash(text);
  std::ranges::transform(hash, hash.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const bool good = hash.size() == kHashDigits && std::ranges::all_of(hash, [](unsigned char c) {
                      return std::isxdigit(c) != 0;
                    });
  return good ? std::optional(hash) : std::nullopt;
}

// One source for each part; `make` gives that of a file with another name.
template <class Make>
std::vector<ModelSource> all_parts(std::string_view file, Make make) {
  std::vector<ModelSource> sources;
  for (const std::string& part : parts_of(file))
    sources.push_back(make(part));
  if (sources.empty()) sources.push_back(make(file));
  return sources;
}

Result<std::vector<ModelSource>> parse_hub(std::string_view text, const http::Url& hub) {
  std::string_view rest = text.substr(kHubPrefix.size());
  std::string_view revision = "main";
  if (const size_t at = rest.rfind('@'); at != std::string_view::npos) {
    revision = rest.substr(at + 1);
    rest = rest.substr(0, at);
  }
  constexpr std::string_view kForm = "write hf:OWNER/REPO/FILE.gguf, with @REVISION if you like";
  const std::vector<std::string_view> names = split(rest, '/');
  if (!is_path(rest) || !is_path(revision)) return refuse(text, kForm);
  if (names.size() == 2) {
    return refuse(text, fmt::format("this names a repository; name a file in it: {0}/FILE.gguf, as "
                                    "{1}/{2}/tree/{3} lists them",
                                    text.substr(0, kHubPrefix.size() + rest.size()),
                                    http::origin(hub), rest, revision));
  }
  if (names.size() < 3) return refuse(text, kForm);
  if (!is_model_file(rest))
    return refuse(text, "this is no .gguf file; other formats must be converted first");

  const std::string repository = fmt::format("{}/{}", names[0], names[1]);
  const std::string_view path = rest.substr(repository.size() + 1);
  const size_t name_at = path.rfind('/') + 1;  // 0 where there is no slash
  std::string folder =
      fmt::format("hf/{}/{}/{}", as_name(names[0]), as_name(names[1]), as_name(revision));
  for (size_t i = 2; i + 1 < names.size(); ++i)
    folder += "/" + as_name(names[i]);
  return all_parts(path.substr(name_at), [&](std::string_view file) {
    const std::string whole = std::string(path.substr(0, name_at)) + std::string(file);
    return ModelSource{
        .text = fmt::format("hf:{}/{}{}", repository, whole,
                            revision == "main" ? "" : fmt::format("@{}", revision)),
        .url =
            http::below(hub, fmt::format("{}/resolve/{}/{}", percent_encoded(repository, "/"),
                                         percent_encoded(revision), percent_encoded(whole, "/"))),
        .folder = folder,
        .file = as_name(file),
        .sha256 = {},
        .of_hub = true,
        .repository = repository,
        .revision = std::string(revision)};
  });
}

Result<std::vector<ModelSource>> parse_web(std::string_view text) {
  const size_t mark = text.find('#');
  const std::string_view fragment = mark == std::string_view::npos ? "" : text.substr(mark + 1);
  const std::string_view shown = text.substr(0, text.find_first_of("?#"));
  std::string hash;
  if (!fragment.empty()) {
    const bool is_hash = fragment.starts_with(kHashMark);
    const auto given = is_hash ? as_hash(fragment.substr(kHashMark.size())) : std::nullopt;
    if (!given) {
      return refuse(shown, fmt::format("what stands behind the # must be {}, and 64 hexadecimal "
                                       "digits",
                                       kHashMark));
    }
    hash = *given;
  }
  const Result<http::Url> url = http::parse_url(text.substr(0, mark));
  if (!url) return url.error();
  if (!url->tls && !http::is_loopback(*url) && hash.empty()) {
    return refuse(shown,
                  "plain http is for this machine only, as anybody on the way could put another "
                  "file in its place; write https://, or state the hash: #sha256=HEX");
  }
  const size_t query = std::min(url->target.find('?'), url->target.size());
  const size_t name_at = url->target.rfind('/', query) + 1;
  const std::string encoded = url->target.substr(name_at, query - name_at);
  const std::string file = percent_decoded(encoded);
  if (!is_model_file(file)) {
    return refuse(shown, "the URL must end with the name of a .gguf file");
  }
  const std::vector<std::string> parts = parts_of(encoded);
  const auto url_of = [&](std::string_view name) {
    http::Url one = *url;
    one.target = url->target.substr(0, name_at) + std::string(name) + url->target.substr(query);
    return one;
  };
  // One folder for the parts of one model; two files of one name keep apart.
  const std::string whole =
      http::to_string(url_of(parts.empty() ? std::string_view(encoded) : parts.front()));
  const std::string folder = fmt::format("web/{}/{}", as_name(url->host),
                                         hash.empty() ? to_hex(hash64(whole)) : hash.substr(0, 16));
  return all_parts(encoded, [&](std::string_view name) {
    return ModelSource{
        .text = std::string(shown.substr(0, shown.rfind('/') + 1)) + std::string(name),
        .url = url_of(name),
        .folder = folder,
        .file = as_name(percent_decoded(name)),
        // It was stated of the one that was named.
        .sha256 = name == encoded ? hash : ""};
  });
}

}  // namespace

bool is_remote(std::string_view text) {
  return starts_with_word(text, kHubPrefix) || starts_with_word(text, "https://") ||
         starts_with_word(text, "http://");
}

std::vector<std::string> parts_of(std::string_view file) {
  if (file.size() <= kPartBytes || !is_model_file(file)) return {};
  const std::string_view stem = file.substr(0, file.size() - kPartBytes);
  const std::string_view tail = file.substr(stem.size());
  const auto digits_at = [&](size_t at) -> int {
    int number = 0;
    const char* begin = tail.data() + at;
    const auto [end, error] = std::from_chars(begin, begin + kPartDigits, number);
    return error == std::errc() && end == begin + kPartDigits ? number : 0;
  };
  const int part = digits_at(1);
  const int count = digits_at(1 + kPartDigits + kOf.size());
  if (tail.front() != '-' || tail.substr(1 + kPartDigits, kOf.size()) != kOf || part < 1 ||
      count < part || count >= kPartsMax)
    return {};
  std::vector<std::string> names;
  for (int i = 1; i <= count; ++i)
    names.push_back(fmt::format("{}-{:05}-of-{:05}{}", stem, i, count,
                                tail.substr(tail.size() - kEnding.size())));
  return names;
}

Result<std::vector<ModelSource>> parse_source(std::string_view text, const http::Url& hub) {
  return starts_with_word(text, kHubPrefix) ? parse_hub(text, hub) : parse_web(text);
}

}  // namespace windrow::model_store
