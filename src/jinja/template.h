// Template: a chat template, as model files carry them, that turns messages into a prompt.
//
// The language is Jinja2 as Hugging Face transformers sets it up for chat templates (immutable
// sandbox, trim_blocks, lstrip_blocks, break and continue, `generation`, plain `tojson`,
// `raise_exception`, `strftime_now`), and a rendering is meant to be the same, byte for byte.
// README.md says where it differs.
//
// It also tracks provenance: through all operations, every character of the result knows whether
// the template or a variable wrote it. A caller that looks for control tokens only in the
// template's text can never take "<|im_end|>" in a user's message for one.
#pragma once

#include <boost/json/object.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "jinja/civil_time.h"

namespace windrow::jinja {

// The limits of one rendering, so that a broken or hostile template ends with an error.
struct Limits {
  // For the result, and for each string made on the way.
  size_t output_bytes_max = size_t{64} << 20;

  // Steps of the interpreter; making 16 bytes of text or of a list counts as one, so that this
  // bounds the memory as well. A conversation of a hundred messages needs some ten thousand.
  uint64_t operations_max = 10'000'000;

  // Nesting of macro calls, recursive loops, blocks and lists.
  int depth_max = 200;
};

struct RenderOptions {
  // The time of strftime_now, which fails without one.
  std::optional<CivilTime> now;

  // Variables whose text counts as the template's own: a name ("bos_token"), or a path of keys in
  // which * stands for every element of a list ("messages.*.role"). Some templates make a control
  // token of a role ('<|' + message.role + '|>'), so callers name roles here, after checking that
  // each is a known one: trusted text may contain control tokens.
  std::vector<std::string> trusted;

  // Printing an undefined value, testing it in a condition, comparing it or iterating over it
  // fails, as with Jinja2's StrictUndefined; `is defined` and `default` are possible.
  bool undefined_fails = false;

  Limits limits;
};

struct Segment {
  std::string text;  // UTF-8, never empty
  bool from_input;   // false: the template's own text, or trusted

  friend bool operator==(const Segment&, const Segment&) = default;
};

struct Rendered {
  // Neighbours differ in from_input. Text that comes from both and cannot be separated counts as
  // input.
  std::vector<Segment> segments;

  std::string text() const;  // all of it
};

// Immutable, cheap to copy; any number of threads may render one at a time.
class Template {
 public:
  // Parses `source`. Fails with kInvalid; the message names the line, the column and the cause and
  // shows the line. include, import, extends, block and autoescape are refused by name.
  static Result<Template> parse(std::string_view source);

  // Renders with `variables` as the names the template sees. Does not keep them. Fails with
  //   kInvalid      the template refused them by raise_exception: the message is the template's
  //                 own text and nothing else
  //   kNoSpace      a limit was reached
  //   kUnavailable  the template does something that cannot be done (with these variables); the
  //                 message names the line and the cause and shows the line
  Result<Rendered> render(const boost::json::object& variables,
                          const RenderOptions& options = {}) const;

  // Whether the template uses `name` anywhere: as a variable, an attribute, a key or a text. A
  // template cannot honour what it never mentions ("tools", "enable_thinking").
  bool mentions(std::string_view name) const;

  // The texts in quotes, each once and none empty. Only these and what is made of them can a
  // template look for in a text.
  std::vector<std::string> texts() const;

  const std::string& source() const;

 private:
  struct Parsed;
  explicit Template(std::shared_ptr<const Parsed> parsed);

  std::shared_ptr<const Parsed> parsed_;
};

}  // namespace windrow::jinja
