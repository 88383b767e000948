#include "llm/packed_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>
#include <string_view>
#include <utility>
#include <variant>

#include "base/ensure.h"
#include "json/members.h"
#include "llm/raw_body.h"

namespace windrow::llm {
namespace {

// The one input of a body, without the brackets of a list that holds nothing else; empty where it
// is something else.
std::string_view only_input(const std::vector<JsonMember>& members) {
  const auto is_input = [](const JsonMember& member) { return json_key_is(member.key, "input"); };
  // Servers do not agree which of two counts.
  if (std::count_if(members.begin(), members.end(), is_input) != 1) return {};
  const std::string_view input = json_member(members, "input");
  if (input.starts_with('"')) return input;
  if (!input.starts_with('[')) return {};
  const std::vector<std::string_view> elements = json_elements(input);
  if (elements.empty()) return {};
  const char first = elements.front().front();
  if (first == '-' || (first >= '0' && first <= '9')) return input;  // token numbers
  const bool is_list = elements.size() == 1 && (first == '"' || first == '[');
  return is_list ? elements.front() : std::string_view();
}

template <class Number>
std::optional<Number> number_of(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// The share of one of several inputs in a total.
class Share {
 public:
  Share(uint64_t from, uint64_t to, uint64_t whole) : from_(from), to_(to), whole_(whole) {}

  // The sum of all shares is `sum`.
  int64_t of(int64_t sum) const {
    const auto up_to = [&](uint64_t at) { return static_cast<uint64_t>(sum) * at / whole_; };
    return static_cast<int64_t>(up_to(to_) - up_to(from_));
  }

  Usage of(const Usage& sum) const {
    const auto part = [&](int32_t tokens) { return static_cast<int32_t>(of(int64_t{tokens})); };
    return {.prompt_tokens = part(sum.prompt_tokens),
            .completion_tokens = part(sum.completion_tokens),
            .cached_tokens = part(sum.cached_tokens)};
  }

  // The numbers in a JSON value.
  std::string of(std::string_view value) const {
    if (value.starts_with('{')) {
      std::string text = "{";
      for (const JsonMember& member : json_members(value)) {
        if (text.size() > 1) text += ',';
        text += member.key;
        text += ':';
        text += of(member.value);
      }
      return text + '}';
    }
    const auto whole_number = number_of<int64_t>(value);
    if (whole_number && *whole_number >= 0 && *whole_number <= INT32_MAX)
      return std::to_string(of(*whole_number));
    return std::string(value);
  }

 private:
  uint64_t from_;
  uint64_t to_;
  uint64_t whole_;
};

std::vector<Share> shares_of(std::span<const int64_t> sizes) {
  const int64_t whole =
      std::max<int64_t>(std::accumulate(sizes.begin(), sizes.end(), int64_t{0}), 1);
  std::vector<Share> shares;
  shares.reserve(sizes.size());
  uint64_t before = 0;
  for (const int64_t size : sizes) {
    const uint64_t after = before + static_cast<uint64_t>(size);
    shares.emplace_back(before, after, static_cast<uint64_t>(whole));
    before = after;
  }
  return shares;
}

Failure mismatch(size_t inputs, std::string_view what) {
  return Failure{.failure_class = FailureClass::kTransient,
                 .status = 502,
                 .code = "invalid_reply",
                 .message = fmt::format(
                     "the reply to a call with {} inputs {}, so nobody can tell whose is whose; "
                     "--no-batching sends each input by itself",
                     inputs, what),
                 .param = {},
                 .overloaded = false,
                 .retry_after_ms = {},
                 .raw = {}};
}

// The elements in the order of the inputs they belong to.
std::variant<std::vector<std::string_view>, Failure> by_index(std::string_view data,
                                                              size_t inputs) {
  const std::vector<std::string_view> elements = json_elements(data);
  if (elements.size() != inputs)
    return mismatch(inputs, fmt::format("has {} embeddings", elements.size()));
  std::vector<std::string_view> ordered(inputs);
  for (const std::string_view element : elements) {
    const std::vector<JsonMember> members = json_members(element);
    const std::string_view text = json_member(members, "index");
    const auto index = number_of<size_t>(text);
    if (!index || *index >= inputs)
      return mismatch(inputs, fmt::format("has an embedding with index {}",
                                          text.empty() ? "missing" : text.substr(0, 20)));
    if (!ordered[*index].empty())
      return mismatch(inputs, fmt::format("has two embeddings with index {}", *index));
    const std::string_view embedding = json_member(members, "embedding");
    if (embedding.empty() || embedding == "null" || embedding == "[]")
      return mismatch(inputs, fmt::format("has no embedding in its element {}", *index));
    ordered[*index] = element;
  }
  return ordered;
}

}  // namespace

std::optional<std::string> pack_key(const Request& request) {
  if (request.endpoint != Endpoint::kEmbeddings || request.raw.empty() ||
      request.inputs.size() != 1)
    return std::nullopt;
  if (request.verbatim || !request.headers.empty()) return std::nullopt;
  const std::vector<JsonMember> members = json_members(request.raw);
  const std::string_view input = only_input(members);
  if (input.empty()) return std::nullopt;
  // Texts and token numbers do not go together.
  std::string key(1, input.front());
  for (const JsonMember& member : members) {
    if (json_key_is(member.key, "input")) continue;
    key += ',';
    key += member.key;
    key += ':';
    key += json_without_space(member.value);
  }
  return key;
}

PackedRequest pack_requests(std::span<const Request* const> requests) {
  ENSURE(!requests.empty(), "a call of nobody");
  PackedRequest packed{.request = *requests.front(), .sizes = {}};
  std::string inputs = "[";
  for (const Request* request : requests) {
    const std::string_view input = only_input(json_members(request->raw));
    ENSURE(!input.empty(), "a request in a call of several must have one input");
    if (!packed.sizes.empty()) inputs += ',';
    inputs += input;
    packed.sizes.push_back(static_cast<int64_t>(input.size()));
  }
  inputs += ']';
  packed.request.raw = with_member(requests.front()->raw, "input", inputs);
  packed.request.inputs.resize(requests.size());
  return packed;
}

std::vector<Outcome> unpack_outcome(Outcome whole, std::span<const int64_t> sizes) {
  const std::vector<Share> shares = shares_of(sizes);
  const auto of_each = [&](const Failure& failure, const Usage& usage) {
    std::vector<Outcome> outcomes;
    outcomes.reserve(shares.size());
    for (const Share& share : shares) {
      Failure own = failure;
      own.usage = share.of(usage);
      outcomes.emplace_back(std::move(own));
    }
    return outcomes;
  };
  if (const auto* failure = std::get_if<Failure>(&whole)) return of_each(*failure, failure->usage);
  const Answer& answer = std::get<Answer>(whole);
  const std::vector<JsonMember> members = json_members(answer.raw);
  const auto ordered = by_index(json_member(members, "data"), sizes.size());
  if (const auto* failure = std::get_if<Failure>(&ordered)) return of_each(*failure, answer.usage);

  const std::string shell = with_member(answer.raw, "data", "[]");
  const std::string_view usage = json_member(members, "usage");
  std::vector<Outcome> outcomes;
  outcomes.reserve(sizes.size());
  for (size_t i = 0; i < sizes.size(); ++i) {
    const std::string_view element = std::get<std::vector<std::string_view>>(ordered)[i];
    Answer own;
    own.raw = with_member(shell, "data", fmt::format("[{}]", with_member(element, "index", "0")));
    if (usage.starts_with('{')) own.raw = with_member(own.raw, "usage", shares[i].of(usage));
    own.usage = shares[i].of(answer.usage);
    own.timings = answer.timings;
    outcomes.emplace_back(std::move(own));
  }
  return outcomes;
}

}  // namespace windrow::llm
