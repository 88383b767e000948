// For tests of replies: rows as servers encode them, and readers that are fed in pieces.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/text_encoding.h"
#include "session/replies/turn_reader.h"

namespace windrow::session::testing {

// `first`, `first` + 1, ...
inline std::vector<int32_t> numbers_from(int32_t first, size_t count) {
  std::vector<int32_t> numbers(count);
  for (size_t i = 0; i < count; ++i)
    numbers[i] = first + static_cast<int32_t>(i);
  return numbers;
}

inline std::string base64(std::string_view bytes) {
  std::string text;
  append_base64(bytes, text);
  return text;
}

// SGLang: base64 of int32.
inline std::string base64_ints(std::span<const int32_t> numbers) {
  std::string bytes(numbers.size() * sizeof(int32_t), '\0');
  if (!bytes.empty()) std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return base64(bytes);
}

// vLLM: base64 of a NumPy file. `type`: "|u1", "<u2", "<i4", ...
inline std::string base64_npy(std::span<const int32_t> numbers, std::string_view type,
                              std::string_view shape) {
  std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}", type, shape);
  header.resize((header.size() + 11 + 63) / 64 * 64 - 10, ' ');
  header.back() = '\n';
  std::string bytes = "\x93NUMPY\x01";
  bytes += '\0';
  bytes += static_cast<char>(header.size() & 0xFF);
  bytes += static_cast<char>(header.size() >> 8);
  bytes += header;
  for (const int32_t number : numbers) {
    for (int byte = 0; byte < type[2] - '0'; ++byte)
      bytes += static_cast<char>(static_cast<int64_t>(number) >> (8 * byte) & 0xFF);
  }
  return base64(bytes);
}

// [[[0,1],[2,3]],...]: lists of `layers` lists of `topk` numbers.
inline std::string nested_lists(std::span<const int32_t> numbers, size_t layers, size_t topk) {
  std::string text = "[";
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (i > 0) text += ',';
    if (i % (layers * topk) == 0) text += '[';
    if (i % topk == 0) text += '[';
    text += fmt::format("{}", numbers[i]);
    if ((i + 1) % topk == 0) text += ']';
    if ((i + 1) % (layers * topk) == 0) text += ']';
  }
  return text + "]";
}

// [[-0.5,10,null],...]
inline std::string token_logprobs(std::span<const int32_t> tokens,
                                  std::span<const double> logprobs) {
  std::string text = "[";
  for (size_t i = 0; i < tokens.size(); ++i)
    text += fmt::format("{}[{},{},null]", i > 0 ? "," : "", logprobs[i], tokens[i]);
  return text + "]";
}

// What the reader makes of the reply, which comes in pieces of `piece_bytes`.
inline std::variant<TurnReply, llm::Failure> read_reply(ServerApi api, TurnReaderOptions options,
                                                        std::string_view text,
                                                        size_t piece_bytes = 1 << 16) {
  const std::unique_ptr<TurnReader> reader = make_turn_reader(api, std::move(options));
  while (!text.empty()) {
    const std::string_view piece = text.substr(0, piece_bytes);
    text.remove_prefix(piece.size());
    // A copy of its own, so that reading behind it is found.
    const std::vector<char> bytes(piece.begin(), piece.end());
    if (!reader->take({bytes.data(), bytes.size()})) break;
  }
  return reader->end();
}

// Its message; "" where there is a reply.
inline std::string message_of(const std::variant<TurnReply, llm::Failure>& result) {
  const auto* failure = std::get_if<llm::Failure>(&result);
  if (failure == nullptr) return {};
  const bool is_as_promised = failure->status == 502 && failure->code == "unusable_reply" &&
                              failure->failure_class == llm::FailureClass::kTransient;
  return is_as_promised ? failure->message : "of another kind: " + failure->message;
}

inline std::vector<int32_t> numbers_of(const TokenRows& rows) {
  std::vector<int32_t> numbers(rows.values.size());
  rows.values.read(0, numbers);
  return numbers;
}

}  // namespace windrow::session::testing
