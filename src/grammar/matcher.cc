#include "grammar/matcher.h"

#include <algorithm>
#include <utility>

#include "base/ensure.h"
#include "base/utf8.h"
#include "grammar/distinct_mask.h"
#include "grammar/machine.h"

namespace windrow::grammar {

// --- CompiledGrammar ----------------------------------------------------------------------------

CompiledGrammar::CompiledGrammar(std::shared_ptr<const Grammar> grammar,
                                 std::shared_ptr<const TokenTables> tables,
                                 const CompiledGrammarOptions& options)
    : machine_(std::make_unique<Machine>(std::move(grammar), std::move(tables), options)) {}

CompiledGrammar::~CompiledGrammar() = default;

const TokenTables& CompiledGrammar::tables() const {
  return machine_->tables();
}

size_t CompiledGrammar::memory_bytes() const {
  const Machine::Lock lock(*machine_);
  return machine_->memory_bytes();
}

// --- Matcher ------------------------------------------------------------------------------------

// The state of an answer. The machine knows all of them, to renumber their states.
struct Matcher::Cursor : CompiledGrammar::Machine::StateHolder {
  std::shared_ptr<CompiledGrammar> grammar;
  StateId state = Recognizer::kFirst;
  std::vector<StateId> before;  // each accepted token

  // Only in grammars with distinct lexemes: the texts of these here and before each token, and
  // their bytes.
  DistinctTexts texts;
  std::vector<DistinctTexts> texts_before;
  std::string texts_bytes;

  bool can_end = false;
  bool goes_on = false;
  bool ended = false;       // by the last accepted token
  size_t bytes_behind = 0;  // bytes of that token after the end of the text
  bool too_complex = false;

  std::unique_ptr<MaskWalk> walk;  // a mask that is not complete
  StateId walk_key = Recognizer::kDead;

  explicit Cursor(std::shared_ptr<CompiledGrammar> of) : grammar(std::move(of)) {}

  CompiledGrammar::Machine& machine() const { return *grammar->machine_; }

  TextPoint point() const { return {state, texts}; }

  // Requires the lock.
  void accept(const TextPoint& to) {
    before.push_back(state);
    if (machine().distinct() != nullptr) texts_before.push_back(std::exchange(texts, to.texts));
    move_to(to.state);
  }

  // Requires the lock.
  void move_to(StateId to) {
    state = to;
    can_end = machine().recognizer().can_end(to);
    goes_on = machine().recognizer().goes_on(to);
  }

  // The mask of the state without the tokens that texts of distinct lexemes forbid. Requires the
  // lock.
  std::shared_ptr<const TokenMask> without_seen(const CompiledGrammar::Machine::KnownMask& known,
                                                StateId key) {
    if (machine().distinct() == nullptr) return known.mask;
    const TextPoint here = point();
    auto mask = distinct_mask({.tables = machine().tables(),
                               .recognizer = machine().recognizer(),
                               .distinct = *machine().distinct(),
                               .point = here,
                               .bytes = texts_bytes,
                               .begun = machine().has_begun(key),
                               .at_risk = known.at_risk.get()},
                              known.mask);
    too_complex = machine().recognizer().too_complex();
    return too_complex ? machine().empty_mask() : mask;
  }

  void list_states(std::vector<StateId*>& states) override {
    states.push_back(&state);
    for (StateId& earlier : before)
      states.push_back(&earlier);
    if (walk == nullptr) return;
    states.push_back(&walk_key);
    walk->list_states(states);
  }
};

Matcher::Matcher(std::shared_ptr<CompiledGrammar> grammar)
    : cursor_(std::make_unique<Cursor>(std::move(grammar))) {
  const CompiledGrammar::Machine::Lock lock(cursor_->machine());
  cursor_->too_complex = cursor_->machine().is_too_complex();
  cursor_->move_to(Recognizer::kFirst);
  cursor_->machine().add(*cursor_);
}

Matcher::~Matcher() {
  if (cursor_ == nullptr) return;
  const CompiledGrammar::Machine::Lock lock(cursor_->machine());
  cursor_->machine().remove(*cursor_);
}

Matcher::Matcher(const Matcher& other) : cursor_(std::make_unique<Cursor>(other.cursor_->grammar)) {
  const CompiledGrammar::Machine::Lock lock(cursor_->machine());
  cursor_->before = other.cursor_->before;
  cursor_->texts = other.cursor_->texts;
  cursor_->texts_before = other.cursor_->texts_before;
  cursor_->texts_bytes = other.cursor_->texts_bytes;
  cursor_->ended = other.cursor_->ended;
  cursor_->bytes_behind = other.cursor_->bytes_behind;
  cursor_->too_complex = other.cursor_->too_complex;
  cursor_->move_to(other.cursor_->state);
  cursor_->machine().add(*cursor_);
}

Matcher& Matcher::operator=(const Matcher& other) {
  if (this != &other) *this = Matcher(other);
  return *this;
}

Matcher::Matcher(Matcher&&) noexcept = default;

Matcher& Matcher::operator=(Matcher&& other) noexcept {
  std::swap(cursor_, other.cursor_);
  return *this;
}

bool Matcher::accept(Token token) {
  Cursor& cursor = *cursor_;
  if (cursor.ended) return false;
  const TokenTables& tables = cursor.machine().tables();
  if (tables.is_end(token)) {
    if (!cursor.can_end) return false;
    const CompiledGrammar::Machine::Lock lock(cursor.machine());
    cursor.accept(cursor.point());
    cursor.ended = true;
    return true;
  }
  const std::string_view bytes = tables.bytes(token);
  return !bytes.empty() && (accept_bytes(bytes) || accept_end(bytes));
}

// A token that ends the text and continues with line breaks. The longest possible part of it is
// text.
bool Matcher::accept_end(std::string_view bytes) {
  Cursor& cursor = *cursor_;
  if (cursor.too_complex || !is_line_break(bytes.back())) return false;
  CompiledGrammar::Machine& machine = cursor.machine();
  const CompiledGrammar::Machine::Lock lock(machine);
  Recognizer& recognizer = machine.recognizer();
  recognizer.reset_too_complex();
  const size_t breaks_from = bytes.find_last_not_of(kLineBreaks) + 1;
  TextPoint at = cursor.point();
  std::optional<TextPoint> end;
  size_t text_bytes = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    const bool begun = i > 0 || machine.has_begun(machine.mask_key(at.state));
    if (i >= breaks_from && begun && recognizer.can_end(at.state)) {
      end = at;
      text_bytes = i;
    }
    if (!machine.step(at, cursor.texts_bytes, static_cast<uint8_t>(bytes[i]))) break;
  }
  cursor.too_complex = recognizer.too_complex();
  if (!end || cursor.too_complex) return false;
  cursor.accept(*end);
  cursor.ended = true;
  cursor.bytes_behind = bytes.size() - text_bytes;
  machine.limit_states();
  return true;
}

bool Matcher::accept_bytes(std::string_view bytes) {
  Cursor& cursor = *cursor_;
  if (cursor.ended || cursor.too_complex) return false;
  CompiledGrammar::Machine& machine = cursor.machine();
  const CompiledGrammar::Machine::Lock lock(machine);
  machine.recognizer().reset_too_complex();
  TextPoint at = cursor.point();
  for (const char byte : bytes) {
    if (!machine.step(at, cursor.texts_bytes, static_cast<uint8_t>(byte))) {
      cursor.too_complex = machine.recognizer().too_complex();
      return false;
    }
  }
  cursor.accept(at);
  machine.limit_states();
  return true;
}

void Matcher::rollback(size_t tokens_count) {
  Cursor& cursor = *cursor_;
  ENSURE(tokens_count <= cursor.before.size(), "rollback of {} tokens, {} were accepted",
         tokens_count, cursor.before.size());
  if (tokens_count == 0) return;
  const CompiledGrammar::Machine::Lock lock(cursor.machine());
  const size_t left = cursor.before.size() - tokens_count;
  cursor.move_to(cursor.before[left]);
  cursor.before.resize(left);
  if (!cursor.texts_before.empty()) {
    cursor.texts = cursor.texts_before[left];
    cursor.texts_before.resize(left);
  }
  cursor.ended = false;
  cursor.bytes_behind = 0;
  cursor.too_complex = cursor.machine().is_too_complex();
}

size_t Matcher::accepted_count() const {
  return cursor_->before.size();
}

bool Matcher::can_end() const {
  return cursor_->can_end;
}

bool Matcher::must_end() const {
  return cursor_->ended || (cursor_->can_end && !cursor_->goes_on);
}

size_t Matcher::bytes_behind_end() const {
  return cursor_->bytes_behind;
}

bool Matcher::too_complex() const {
  return cursor_->too_complex;
}

std::shared_ptr<const TokenMask> Matcher::mask() {
  // About 50 us; in between, threads that wait for the lock get it.
  constexpr size_t kNodesPerTurn = 10'000;
  for (;;) {
    if (auto mask = mask_within(kNodesPerTurn)) return mask;
    cursor_->machine().yield_to_waiting();
  }
}

std::shared_ptr<const TokenMask> Matcher::mask_within(size_t nodes_max) {
  Cursor& cursor = *cursor_;
  CompiledGrammar::Machine& machine = cursor.machine();
  const CompiledGrammar::Machine::Lock lock(machine);
  if (cursor.ended || cursor.too_complex) return machine.empty_mask();
  machine.recognizer().reset_too_complex();
  const StateId key = machine.mask_key(cursor.state);
  if (const auto known = machine.known_mask(key)) {
    cursor.walk.reset();
    return cursor.without_seen(*known, key);
  }
  if (cursor.walk == nullptr || cursor.walk_key != key) {
    cursor.walk = std::make_unique<MaskWalk>(machine.tables(), machine.recognizer(),
                                             machine.distinct(), key, machine.has_begun(key));
    cursor.walk_key = key;
  }
  const bool is_over = cursor.walk->advance(machine.recognizer(), nodes_max);
  if (machine.recognizer().too_complex()) {
    cursor.too_complex = true;
    cursor.walk.reset();
    machine.limit_states();
    return machine.empty_mask();
  }
  if (!is_over) {
    machine.limit_states();
    return nullptr;
  }
  auto mask = cursor.without_seen(machine.keep_mask(key, *cursor.walk), key);
  cursor.walk.reset();
  machine.limit_states();
  return mask;
}

std::string Matcher::forced_bytes(size_t bytes_max) const {
  const Cursor& cursor = *cursor_;
  std::string forced;
  if (cursor.ended || cursor.too_complex) return forced;
  CompiledGrammar::Machine& machine = cursor.machine();
  const CompiledGrammar::Machine::Lock lock(machine);
  Recognizer& recognizer = machine.recognizer();
  recognizer.reset_too_complex();
  TextPoint at = cursor.point();
  while (forced.size() < bytes_max && !recognizer.can_end(at.state)) {
    const std::optional<uint8_t> byte = machine.only_byte(at, cursor_->texts_bytes);
    if (!byte || recognizer.too_complex()) {
      // The character is not decided yet: none of its bytes are returned.
      forced.resize(forced.size() - utf8_incomplete_tail(forced));
      break;
    }
    forced += static_cast<char>(*byte);
    machine.step(at, cursor_->texts_bytes, *byte);
  }
  machine.limit_states();
  return forced;
}

}  // namespace windrow::grammar
