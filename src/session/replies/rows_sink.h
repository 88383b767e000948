// RowsSink: rows of numbers of a reply, in any form that servers use, into PackedInts while they
// arrive: base64 of int32, base64 of a NumPy file, or nested lists. Pure; used by one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "session/replies/blob_scanner.h"
#include "session/replies/npy_decoder.h"
#include "session/replies/turn_reply.h"
#include "session/rows/packed_ints.h"
#include "session/rows/packed_ints_decoder.h"

namespace windrow::session {

class RowsSink final : public BlobSink {
 public:
  enum class Form : uint8_t { kText, kLists };

  // `numbers_to_skip` is asked once, when the content begins: how many numbers at its beginning are
  // held already.
  explicit RowsSink(std::function<uint64_t(Form form)> numbers_to_skip)
      : numbers_to_skip_(std::move(numbers_to_skip)) {}

  // The numbers refer to where they are.
  RowsSink(const RowsSink&) = delete;
  RowsSink& operator=(const RowsSink&) = delete;

  bool on_text(std::string_view text) override;
  bool on_number(int64_t number) override;
  bool on_open(size_t depth) override;
  bool on_close(size_t depth) override;
  bool on_end() override;

  // Whether nothing has come yet.
  bool is_unused() const { return !form_ && first_text_.empty() && !is_whole_; }

  // Whether there was a value, and it had numbers.
  bool has_numbers() const { return is_whole_ && numbers_ > 0; }

  // Of a whole value: its numbers, skipped ones included; those that were skipped; and its rows,
  // where it has a form that tells.
  uint64_t numbers() const { return numbers_; }
  uint64_t skipped() const { return numbers_ - values_.size(); }
  std::optional<uint64_t> rows() const { return rows_; }
  PackedInts& values() { return values_; }

  // Why a method returned false.
  const std::string& wrong() const { return wrong_; }

 private:
  bool fail(std::string why);
  void begin(Form form);
  bool decode(std::string_view text);
  bool end_row();
  bool end_lists();
  void flush();

  const std::function<uint64_t(Form form)> numbers_to_skip_;
  PackedInts values_;
  bool is_whole_ = false;
  uint64_t numbers_ = 0;
  std::optional<uint64_t> rows_;
  std::string wrong_;

  std::optional<Form> form_;
  uint64_t skip_ = 0;

  // Of a text.
  std::string first_text_;  // until it tells what it is
  std::optional<NpyDecoder> npy_;
  std::optional<PackedIntsDecoder> ints_;

  // Of lists.
  std::vector<int32_t> block_;
  uint64_t lists_ = 0;              // at depth 1, complete
  uint64_t row_begin_ = 0;          // in numbers, of the list that is being read
  uint64_t list_numbers_ = 0;       // of each list so far
  bool has_numbers_apart_ = false;  // beside lists, at the outermost level
};

// The rows of a turn with `tokens` tokens in all (prompt and sampled) out of what a sink got: those
// from `wanted.first_row` on. Null: the server told none. A text: they do not belong to the tokens,
// and why. `name`: the member of the reply. Takes the numbers of the sink.
using RowsOrFault = std::variant<std::shared_ptr<TokenRows>, std::string>;
RowsOrFault rows_of(RowsSink& sink, std::string_view name, const WantedRows& wanted, size_t tokens);

// Numbers from `first` on, appended to `values`.
void append_from(const PackedInts& source, size_t first, PackedInts& values);

// The first row that is kept of a reply, and the numbers of the reply before it.
size_t first_kept_row(const WantedRows& wanted);
uint64_t held_numbers(const WantedRows& wanted);

}  // namespace windrow::session
