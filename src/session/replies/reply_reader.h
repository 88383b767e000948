// ReplyReader: what turn readers of all kinds share: the objects of a reply one after the other,
// rows in sinks, and one failure, the first. Pure; used by one thread.
#pragma once

#include <boost/json/object.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "session/replies/reply_objects.h"
#include "session/replies/rows_sink.h"
#include "session/replies/turn_reader.h"

namespace windrow::session {

class ReplyReader : public TurnReader {
 public:
  explicit ReplyReader(TurnReaderOptions options);
  ReplyReader(const ReplyReader&) = delete;
  ReplyReader& operator=(const ReplyReader&) = delete;

  bool take(std::string_view bytes) final;
  std::variant<TurnReply, llm::Failure> end() final;

 protected:
  // The blobs of the next object, with fresh sinks.
  virtual std::vector<BlobScanner::Blob> blobs();

  // The next object of the reply; and after the last one, what is to be checked of the whole. They
  // fill reply(), and return false after fail().
  virtual bool on_object(boost::json::object object) = 0;
  virtual bool on_end() = 0;

  // Always false.
  bool fail(std::string message);

  // Fails if the server reports an error.
  bool check_error(const boost::json::object& object);

  // Of the part of the reply so far; adds what is new, and calls on_tokens.
  void add_tokens(std::vector<int32_t> tokens, const std::vector<double>& logprobs);

  // Fails if a member of rows that are wanted has a value that no sink got: another form of rows,
  // which would be lost without a word.
  bool check_rows_were_read(const boost::json::object& object, RowKind kind, std::string_view name);

  // Puts the rows of a kind into the reply, now that its tokens are known.
  bool take_rows(RowKind kind);

  // Of prompt and reply.
  size_t all_tokens() const { return options_.prompt_tokens + reply_.tokens.size(); }

  // Null where no rows are wanted.
  RowsSink* sink(RowKind kind) { return sinks_[static_cast<size_t>(kind)].get(); }
  void replace_sink(RowKind kind);

  const TurnReaderOptions& options() const { return options_; }
  const WantedRows& wanted(RowKind kind) const { return options_.rows[static_cast<size_t>(kind)]; }
  TurnReply& reply() { return reply_; }

  // Which numbers a sink skips.
  virtual uint64_t numbers_to_skip(RowKind kind, RowsSink::Form form) const;

  // What to say of sinks that refused, with the name of the member.
  virtual std::string why_refused() const;

 private:
  const TurnReaderOptions options_;
  TurnReply reply_;
  std::unique_ptr<RowsSink> sinks_[kRowKinds];
  ReplyObjects objects_;
  std::optional<std::string> failure_;
};

// Factories of the kinds.
std::unique_ptr<TurnReader> make_sglang_chat_reader(TurnReaderOptions options);
std::unique_ptr<TurnReader> make_sglang_generate_reader(TurnReaderOptions options);
std::unique_ptr<TurnReader> make_vllm_completion_reader(TurnReaderOptions options);

}  // namespace windrow::session
