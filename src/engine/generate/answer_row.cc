#include "engine/generate/answer_row.h"

#include <algorithm>
#include <utility>

#include "base/ensure.h"
#include "base/utf8.h"
#include "chat/reasoning.h"
#include "engine/structure/jump_forward.h"

namespace windrow::engine {
namespace {

// How much of a forced text is looked at; a longer one comes in parts.
constexpr size_t kForcedBytesMax = 1024;

}  // namespace

KeptScore kept_score(const llm::ScoredToken& scored, int32_t top_asked) {
  KeptScore score{.next = scored.chosen.token,
                  .logprob = scored.chosen.logprob,
                  .rank = scored.rank,
                  .top_asked = top_asked,
                  .top = {}};
  score.top.reserve(scored.top.size());
  for (const llm::TokenLogprob& one : scored.top)
    score.top.push_back({.token = one.token, .logprob = one.logprob});
  return score;
}

AnswerRow::AnswerRow(EngineRequest request, const Vocabulary& vocabulary)
    : request_(std::move(request)),
      vocabulary_(vocabulary),
      tokens_(std::move(request_.prompt)),
      prompt_tokens_(static_cast<int32_t>(tokens_.size())),
      text_(std::move(request_.stop)) {}

// --- tokens -------------------------------------------------------------------------------------

AnswerRow::Appended AnswerRow::begin() {
  if (request_.scores_prompt() && request_.score_from == 0) {
    // No token precedes the first one, so it has no log-probability.
    scored_.push_back({.chosen = token_logprob(tokens_.front(), 0), .has_logprob = false});
  }
  const auto room = static_cast<size_t>(request_.output_tokens_max);
  if (room == 0) ending_ = llm::FinishReason::kLength;
  if (request_.form) {
    ENSURE(room > 0 && !request_.ignore_eos, "a form needs an answer that may end");
    // It may be queued again when its next token is known (NewRow::tokens).
    tokens_.reserve(tokens_.size() + room);
    guide_ = std::make_shared<AnswerGuide>(request_.form);
  }
  if (request_.listener) stream_ = make_stream();
  if (request_.tools && !request_.tools->several)
    call_end_ = std::make_unique<CallEnd>(*request_.reasoning, request_.tools);
  if (!guide_) return {.ended = ending_};
  const Appended appended = append_all(std::nullopt);
  ending_ = appended.ended;
  return appended;
}

AnswerRow::Appended AnswerRow::append(Token token) {
  return append_all(token);
}

AnswerRow::Appended AnswerRow::append_all(std::optional<Token> token) {
  const size_t size = tokens_.size();
  const int32_t forced = forced_tokens_;
  std::optional<llm::FinishReason> ended;
  if (token) ended = append_one(*token);
  if (!ended && guide_) ended = append_forced();
  return {.tokens = static_cast<int32_t>(tokens_.size() - size),
          .forced = forced_tokens_ - forced,
          .ended = ended};
}

// Returns how the answer ends, if it does.
std::optional<llm::FinishReason> AnswerRow::append_one(Token token) {
  tokens_.push_back(token);
  const std::optional<llm::FinishReason> ended = append_text(token);
  if (stream_) {
    stream_->append_token(text_.bytes().size(), guide_ ? guide_->speech_begin() : std::nullopt);
  }
  if (ended) return ended;
  if (generated_tokens() == request_.output_tokens_max) return llm::FinishReason::kLength;
  return std::nullopt;
}

// The bytes of a token in the text of an answer.
void AnswerRow::append_bytes(Token token, std::string& bytes) const {
  if (std::ranges::find(request_.shown_tokens, token) != request_.shown_tokens.end()) {
    vocabulary_.append_piece(token, bytes);
  } else {
    vocabulary_.append_bytes(token, bytes);
  }
}

std::optional<llm::FinishReason> AnswerRow::append_text(Token token) {
  const bool ends = vocabulary_.ends_answer(token);
  if (ends && !request_.ignore_eos) return llm::FinishReason::kStop;
  if (std::ranges::find(request_.stop_tokens, token) != request_.stop_tokens.end()) {
    stopped_ = true;
    stopped_by_token_ = token;
    return llm::FinishReason::kStop;
  }
  if (ends) return std::nullopt;
  std::string bytes;
  append_bytes(token, bytes);
  if (text_.append(bytes)) {
    stopped_ = true;
    return llm::FinishReason::kStop;
  }
  if (call_end_ &&
      call_end_->reached(std::string_view(text_.bytes()).substr(0, text_.settled_bytes()))) {
    called_ = true;
    return llm::FinishReason::kStop;
  }
  if (!guide_) return std::nullopt;
  const bool accepted = guide_->accept(token, bytes);
  if (!accepted) {
    // A defect of masks ends this row and no other.
    structure_fault_ =
        guide_->too_complex() ? StructureFault::kTooComplex : StructureFault::kTokenRefused;
    return llm::FinishReason::kStop;
  }
  text_.drop_last(guide_->bytes_behind_end());
  if (guide_->must_end()) return llm::FinishReason::kStop;
  return std::nullopt;
}

// Reasoning that has had its tokens ends with the marks that the model would write.
std::optional<llm::FinishReason> AnswerRow::close_reasoning() {
  const std::string closing = guide_->closing_text();
  if (closing.empty()) return std::nullopt;
  const std::vector<Token> tokens = vocabulary_.tokenize(closing, ControlTokens::kParsed);
  const auto ends = [&](Token token) { return vocabulary_.ends_answer(token); };
  if (std::ranges::any_of(tokens, ends)) return std::nullopt;
  for (const Token token : tokens) {
    ++forced_tokens_;
    if (const auto ended = append_one(token)) return ended;
  }
  return std::nullopt;
}

// What the form leaves no choice about is appended at once: text, and control tokens between.
std::optional<llm::FinishReason> AnswerRow::append_forced() {
  if (const auto ended = close_reasoning()) return ended;
  const AnswerForm& form = *request_.form;
  if (!form.force) return std::nullopt;
  while (true) {
    const std::string text = guide_->forced_text(kForcedBytesMax);
    const std::string_view plain =
        form.escapes.empty() ? text
                             : std::string_view(text).substr(0, text.find(TokenEscapes::kEscape));
    const bool mark_behind = plain.size() < text.size();
    std::vector<Token> tokens;
    if (plain.empty()) {
      const TokenEscapes::Entry* mark = form.escapes.at_front(text);
      if (mark != nullptr) tokens = {mark->token};
    } else {
      tokens = jump_forward_tokens(
          tokens_,
          {.text = plain,
           .is_end = mark_behind || guide_->ends_behind(text),
           .may_cross_end = [&](size_t at) { return guide_->may_cross_end(text, at); }},
          vocabulary_, form.grammar->tables());
    }
    for (const Token token : tokens) {
      ++forced_tokens_;
      if (const auto ended = append_one(token)) return ended;
    }
    // A run always ends at a mark; more may be forced behind it.
    if (tokens.empty() || !mark_behind) return std::nullopt;
  }
}

bool AnswerRow::grow(size_t bytes) {
  if (no_room_) return false;
  return !request_.answer_share || request_.answer_share->grow(bytes);
}

// --- scores -------------------------------------------------------------------------------------

llm::TokenLogprob AnswerRow::token_logprob(Token token, double logprob) const {
  llm::TokenLogprob one{.token = token, .logprob = static_cast<float>(logprob)};
  vocabulary_.append_piece(token, one.bytes);
  return one;
}

void AnswerRow::add_kept_scores(std::span<const KeptScore> scores) {
  for (const KeptScore& score : scores) {
    // The row is part of the step that is about to run, and ends with its next output.
    if (no_room_) return;
    llm::ScoredToken& scored = scored_.emplace_back(
        llm::ScoredToken{.chosen = token_logprob(score.next, score.logprob), .rank = score.rank});
    const auto count = std::min(score.top.size(), static_cast<size_t>(*request_.scores_top()));
    for (const KeptAlternative& one : std::span(score.top).first(count))
      scored.top.push_back(token_logprob(one.token, one.logprob));
    no_room_ = !grow(llm::bytes_of(scored));
  }
}

std::optional<KeptScore> AnswerRow::kept_score(size_t index) const {
  const auto first = static_cast<size_t>(request_.score_from);
  if (index < first || index - first >= scored_.size()) return std::nullopt;
  return engine::kept_score(scored_[index - first], *request_.scores_top());
}

// --- stream and end -----------------------------------------------------------------------------

std::unique_ptr<AnswerStream> AnswerRow::make_stream() const {
  const std::string before = guide_ ? utf8_repair(request_.text_before) : request_.text_before;
  StreamedAnswer answer{.choice = request_.choice,
                        .text_begin = request_.text_begin,
                        .text_before = before,
                        .lists_tokens = has_scores(),
                        .lists_ids = request_.return_token_ids,
                        .prompt_tokens = prompt_scores()};
  if (is_guided()) {
    answer.guided = true;
    answer.reasoning = request_.form->reasoning;
    answer.prompt_end = request_.form->prompt_end;
    answer.content_begin = guide_->speech_begin();
  } else if (request_.reasoning) {
    answer.reasoning = request_.reasoning->format;
    answer.prompt_end = request_.reasoning->prompt_end;
    answer.tools = request_.tools;
    answer.call_seed = request_.call_seed;
  }
  return std::make_unique<AnswerStream>(answer);
}

void AnswerRow::emit() {
  if (!stream_ || is_abandoned()) return;
  for (llm::Delta& delta : stream_->next(text_, scored_, answer_tokens())) {
    name_prompt(delta);
    request_.listener->on_delta(std::move(delta));
  }
}

std::span<const Token> AnswerRow::answer_tokens() const {
  return std::span(tokens_).subspan(static_cast<size_t>(prompt_tokens_));
}

void AnswerRow::name_prompt(llm::Delta& delta) {
  if (!request_.return_token_ids || std::exchange(prompt_emitted_, true)) return;
  delta.prompt_token_ids.assign(tokens_.begin(), tokens_.begin() + prompt_tokens_);
}

// How many of the scored tokens are of the prompt.
size_t AnswerRow::prompt_scores() const {
  if (!request_.scores_prompt()) return 0;
  return static_cast<size_t>(std::max(0, prompt_tokens_ - request_.score_from));
}

// The scores of the answer's tokens and of the prompt's, in the lists where they were asked for.
void AnswerRow::list_scores(llm::Choice& choice) {
  const auto cut = [](std::vector<llm::ScoredToken>& tokens, int32_t top) {
    for (llm::ScoredToken& token : tokens) {
      if (token.top.size() > static_cast<size_t>(top)) token.top.resize(static_cast<size_t>(top));
    }
  };
  const auto prompt_end =
      scored_.begin() + static_cast<std::ptrdiff_t>(std::min(prompt_scores(), scored_.size()));
  if (request_.prompt_logprobs_top) {
    choice.prompt_scores.assign(scored_.begin(), prompt_end);
    cut(choice.prompt_scores, *request_.prompt_logprobs_top);
  }
  if (!request_.logprobs_top) return;
  if (!request_.score_prompt) scored_.erase(scored_.begin(), prompt_end);
  choice.tokens = std::move(scored_);
  cut(choice.tokens, *request_.logprobs_top);
}

llm::Answer AnswerRow::finish(llm::FinishReason reason, const llm::Timings& timings,
                              int32_t cached_tokens) {
  llm::Answer answer{.choices = {{.text_begin = request_.text_begin, .finish_reason = reason}},
                     .usage = {.prompt_tokens = prompt_tokens_,
                               .completion_tokens = generated_tokens(),
                               .cached_tokens = cached_tokens},
                     .timings = timings};
  llm::Choice& choice = answer.choices.front();
  if (guide_) {
    const bool whole = reason == llm::FinishReason::kStop && !stopped_;
    // The grammar of calls would go on behind the only call that is wanted.
    ENSURE(!whole || called_ || guide_->can_end(), "an answer ended before its structure");
    // An answer that need not call a tool or have a form is never cut too early.
    if (!request_.form->call_triggers) {
      choice.structure = whole ? llm::StructureLabel::kValid : llm::StructureLabel::kTruncated;
      answer.truncated = !whole;
    }
  }
  list_scores(choice);
  if (request_.return_token_ids) {
    const std::span<const Token> ids = answer_tokens();
    choice.token_ids.assign(ids.begin(), ids.end());
  }
  choice.stopped_by = text_.stopped_by();
  choice.stopped_by_token = stopped_by_token_;
  choice.cut_character =
      reason == llm::FinishReason::kLength && utf8_incomplete_tail(text_.bytes()) > 0;
  describe(choice);
  if (choice.reasoning) answer.usage.reasoning_tokens = count_reasoning_tokens();
  if (stream_ && !is_abandoned()) {
    llm::Delta last = stream_->last(choice);
    name_prompt(last);
    request_.listener->on_delta(std::move(last));
  }
  return answer;
}

// Splits the text into reasoning, content and calls.
void AnswerRow::describe(llm::Choice& choice) const {
  if (!guide_ && !request_.reasoning) {
    choice.text = utf8_repair(request_.text_before + text_.bytes());
    return;
  }
  const chat::SplitAnswer split =
      is_guided() ? guide_->split(text_.bytes())
                  : chat::split_reasoning(request_.reasoning->format,
                                          request_.reasoning->prompt_end, text_.bytes());
  const std::string before = utf8_repair(request_.text_before);
  choice.text = before + utf8_repair(split.content);
  if (split.reasoning) choice.reasoning = utf8_repair(*split.reasoning);
  if (is_guided()) {
    choice.prompt_bytes = before.size();
  } else if (request_.tools) {
    take_calls(request_.tools, request_.call_seed, choice);
  }
}

// The parts of the text that are reasoning.
std::vector<std::string_view> AnswerRow::reasoning_parts() const {
  const std::string_view text = text_.bytes();
  if (!is_guided()) {
    if (!request_.reasoning) return {};
    return chat::reasoning_parts(request_.reasoning->format, request_.reasoning->prompt_end, text);
  }
  const std::optional<size_t> content_begin = guide_->speech_begin();
  if (!content_begin) return {};
  return chat::reasoning_parts(request_.form->reasoning, request_.form->prompt_end,
                               text.substr(0, *content_begin));
}

// Counts tokens with text of the reasoning; those of its marks and the whitespace around them are
// not.
int32_t AnswerRow::count_reasoning_tokens() const {
  const char* const text = text_.bytes().data();
  int32_t count = 0;
  auto token = static_cast<size_t>(prompt_tokens_);
  size_t begin = 0;  // of the text of `token`
  std::string bytes;
  for (const std::string_view part : reasoning_parts()) {
    const auto from = static_cast<size_t>(part.data() - text);
    const size_t to = from + part.size();
    for (; token < tokens_.size() && begin < to; ++token) {
      bytes.clear();
      if (!vocabulary_.ends_answer(tokens_[token])) append_bytes(tokens_[token], bytes);
      if (begin + bytes.size() > from && !bytes.empty()) ++count;
      begin += bytes.size();
    }
  }
  return count;
}

}  // namespace windrow::engine
