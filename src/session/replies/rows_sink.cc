#include "session/replies/rows_sink.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace windrow::session {

namespace {
constexpr size_t kListBlock = 4096;
constexpr size_t kListDepthMax = 8;
}  // namespace

bool RowsSink::fail(std::string why) {
  wrong_ = std::move(why);
  return false;
}

void RowsSink::begin(Form form) {
  form_ = form;
  skip_ = numbers_to_skip_(form);
}

// --- base64 ---

bool RowsSink::on_text(std::string_view text) {
  if (npy_ || ints_) return decode(text);
  const size_t wanted = NpyDecoder::kTextBegins.size() - first_text_.size();
  first_text_ += text.substr(0, wanted);
  text.remove_prefix(std::min(wanted, text.size()));
  const bool may_be_npy = NpyDecoder::kTextBegins.starts_with(first_text_);
  if (may_be_npy && first_text_.size() < NpyDecoder::kTextBegins.size()) return true;
  begin(Form::kText);
  if (may_be_npy) {
    npy_.emplace(values_, skip_);
  } else {
    ints_.emplace(values_, skip_);
  }
  return decode(first_text_) && decode(text);
}

bool RowsSink::decode(std::string_view text) {
  if (npy_) return npy_->take(text) || fail(npy_->wrong());
  return ints_->take(text) || fail("it is not base64");
}

// --- lists ---

bool RowsSink::on_number(int64_t number) {
  if (!form_) begin(Form::kLists);
  if (number != static_cast<int32_t>(number))
    return fail(fmt::format("number {} of it does not fit 32 bits: {}", numbers_, number));
  if (numbers_ >= skip_) block_.push_back(static_cast<int32_t>(number));
  ++numbers_;
  if (block_.size() == kListBlock) flush();
  return true;
}

void RowsSink::flush() {
  values_.append(block_);
  block_.clear();
}

bool RowsSink::on_open(size_t depth) {
  if (!form_) begin(Form::kLists);
  if (depth > kListDepthMax)
    return fail(fmt::format("its lists are nested more than {} deep", kListDepthMax));
  if (depth == 1) has_numbers_apart_ = has_numbers_apart_ || numbers_ != row_begin_;
  return true;
}

bool RowsSink::on_close(size_t depth) {
  return depth != 1 || end_row();
}

bool RowsSink::end_row() {
  const uint64_t count = numbers_ - row_begin_;
  if (lists_ > 0 && count != list_numbers_) {
    return fail(fmt::format("its rows differ in length: row {} has {} numbers, those before it {}",
                            lists_, count, list_numbers_));
  }
  list_numbers_ = count;
  ++lists_;
  row_begin_ = numbers_;
  return true;
}

bool RowsSink::end_lists() {
  flush();
  has_numbers_apart_ = has_numbers_apart_ || (lists_ > 0 && numbers_ != row_begin_);
  if (has_numbers_apart_) return fail("it has numbers beside its rows");
  if (lists_ > 0) rows_ = lists_;
  return true;
}

bool RowsSink::on_end() {
  is_whole_ = true;
  if (form_ == Form::kLists) return end_lists();
  if (npy_) {
    if (!npy_->end()) return fail(npy_->wrong());
    numbers_ = npy_->values();
    if (!npy_->shape().empty()) rows_ = npy_->shape().front();
  } else if (ints_) {
    if (!ints_->is_whole()) return fail("it is not base64 of whole numbers of 4 bytes");
    numbers_ = ints_->values();
  } else if (!first_text_.empty()) {
    return fail("its base64 text ends too early");
  }
  return true;
}

// --- what belongs to which token ---

size_t first_kept_row(const WantedRows& wanted) {
  // Without values_per_row nothing is held.
  return wanted.values_per_row == 0 ? wanted.reply_begins_at
                                    : std::max(wanted.first_row, wanted.reply_begins_at);
}

uint64_t held_numbers(const WantedRows& wanted) {
  return (first_kept_row(wanted) - wanted.reply_begins_at) * wanted.values_per_row;
}

void append_from(const PackedInts& source, size_t first, PackedInts& values) {
  std::vector<int32_t> block;
  while (first < source.size()) {
    block.resize(std::min(source.size() - first, PackedInts::kBlockValues));
    source.read(first, block);
    values.append(block);
    first += block.size();
  }
}

RowsOrFault rows_of(RowsSink& sink, std::string_view name, const WantedRows& wanted,
                    size_t tokens) {
  if (!sink.has_numbers()) return std::shared_ptr<TokenRows>();
  const size_t end_row = tokens == 0 ? 0 : tokens - 1;
  const size_t rows = end_row > wanted.reply_begins_at ? end_row - wanted.reply_begins_at : 0;
  const std::string expected = fmt::format("{} rows (of {} tokens in all, from row {} on)", rows,
                                           tokens, wanted.reply_begins_at);
  if (rows == 0 || (sink.rows() && *sink.rows() != rows)) {
    return fmt::format("{} has {} where {} belong to the reply", name,
                       sink.rows() ? fmt::format("{} rows", *sink.rows())
                                   : fmt::format("{} numbers", sink.numbers()),
                       expected);
  }
  size_t values_per_row = wanted.values_per_row;
  if (values_per_row == 0) values_per_row = sink.numbers() / rows;
  if (values_per_row == 0 || sink.numbers() != rows * values_per_row) {
    return fmt::format(
        "{} has {} numbers, which are not {}{}", name, sink.numbers(), expected,
        wanted.values_per_row == 0
            ? " of one length"
            : fmt::format(" of {} numbers, as the rows before them", values_per_row));
  }
  auto result = std::make_shared<TokenRows>();
  result->first_row = first_kept_row(wanted);
  result->values_per_row = values_per_row;
  const uint64_t to_drop = held_numbers(wanted) - std::min(held_numbers(wanted), sink.skipped());
  if (to_drop == 0) {
    result->values = std::move(sink.values());
  } else {
    append_from(sink.values(), to_drop, result->values);
  }
  result->values.shrink_to_fit();
  return result;
}

}  // namespace windrow::session
