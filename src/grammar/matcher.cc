#include "grammar/matcher.h"

#include <algorithm>
#include <utility>

#include "base/ensure.h"
#include "base/utf8.h"
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

// Where an answer is. The machine knows all of them, for when it numbers its states anew.
struct Matcher::Place : CompiledGrammar::Machine::Rooted {
  std::shared_ptr<CompiledGrammar> grammar;
  StateId state = Recognizer::kFirst;
  std::vector<StateId> before;  // each accepted token
  bool can_end = false;
  bool goes_on = false;
  bool ended = false;       // by the last token accepted
  size_t bytes_behind = 0;  // of that token, behind the end of the text
  bool too_complex = false;

  std::unique_ptr<MaskWalk> walk;  // when it did not come to its end
  StateId walk_key = Recognizer::kDead;

  explicit Place(std::shared_ptr<CompiledGrammar> of) : grammar(std::move(of)) {}

  CompiledGrammar::Machine& machine() const { return *grammar->machine_; }

  // Under the lock.
  void move_to(StateId to) {
    state = to;
    can_end = machine().recognizer().can_end(to);
    goes_on = machine().recognizer().goes_on(to);
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
    : place_(std::make_unique<Place>(std::move(grammar))) {
  const CompiledGrammar::Machine::Lock lock(place_->machine());
  place_->too_complex = place_->machine().is_too_complex();
  place_->move_to(Recognizer::kFirst);
  place_->machine().add(*place_);
}

Matcher::~Matcher() {
  if (place_ == nullptr) return;
  const CompiledGrammar::Machine::Lock lock(place_->machine());
  place_->machine().remove(*place_);
}

Matcher::Matcher(const Matcher& other) : place_(std::make_unique<Place>(other.place_->grammar)) {
  const CompiledGrammar::Machine::Lock lock(place_->machine());
  place_->before = other.place_->before;
  place_->ended = other.place_->ended;
  place_->bytes_behind = other.place_->bytes_behind;
  place_->too_complex = other.place_->too_complex;
  place_->move_to(other.place_->state);
  place_->machine().add(*place_);
}

Matcher& Matcher::operator=(const Matcher& other) {
  if (this != &other) *this = Matcher(other);
  return *this;
}

Matcher::Matcher(Matcher&&) noexcept = default;

Matcher& Matcher::operator=(Matcher&& other) noexcept {
  std::swap(place_, other.place_);
  return *this;
}

bool Matcher::accept(Token token) {
  Place& place = *place_;
  if (place.ended) return false;
  const TokenTables& tables = place.machine().tables();
  if (tables.is_end(token)) {
    if (!place.can_end) return false;
    const CompiledGrammar::Machine::Lock lock(place.machine());
    place.before.push_back(place.state);
    place.ended = true;
    return true;
  }
  const std::string_view bytes = tables.bytes(token);
  return !bytes.empty() && (accept_bytes(bytes) || accept_end(bytes));
}

// A token that ends the text and goes on with line breaks. As much of it as can be is text.
bool Matcher::accept_end(std::string_view bytes) {
  Place& place = *place_;
  if (place.too_complex || !is_line_break(bytes.back())) return false;
  CompiledGrammar::Machine& machine = place.machine();
  const CompiledGrammar::Machine::Lock lock(machine);
  Recognizer& recognizer = machine.recognizer();
  recognizer.reset_too_complex();
  const size_t breaks_from = bytes.find_last_not_of(kLineBreaks) + 1;
  StateId state = place.state;
  std::optional<StateId> end;
  size_t text_bytes = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    const bool begun = i > 0 || machine.has_begun(machine.mask_key(state));
    if (i >= breaks_from && begun && recognizer.can_end(state)) {
      end = state;
      text_bytes = i;
    }
    state = recognizer.step(state, static_cast<uint8_t>(bytes[i]));
    if (state == Recognizer::kDead) break;
  }
  place.too_complex = recognizer.too_complex();
  if (!end || place.too_complex) return false;
  place.before.push_back(place.state);
  place.move_to(*end);
  place.ended = true;
  place.bytes_behind = bytes.size() - text_bytes;
  machine.limit_states();
  return true;
}

bool Matcher::accept_bytes(std::string_view bytes) {
  Place& place = *place_;
  if (place.ended || place.too_complex) return false;
  CompiledGrammar::Machine& machine = place.machine();
  const CompiledGrammar::Machine::Lock lock(machine);
  machine.recognizer().reset_too_complex();
  StateId state = place.state;
  for (const char byte : bytes) {
    state = machine.recognizer().step(state, static_cast<uint8_t>(byte));
    if (state == Recognizer::kDead) {
      place.too_complex = machine.recognizer().too_complex();
      return false;
    }
  }
  place.before.push_back(place.state);
  place.move_to(state);
  machine.limit_states();
  return true;
}

void Matcher::rollback(size_t tokens_count) {
  Place& place = *place_;
  ENSURE(tokens_count <= place.before.size(), "{} tokens are taken back of {}", tokens_count,
         place.before.size());
  if (tokens_count == 0) return;
  const CompiledGrammar::Machine::Lock lock(place.machine());
  const size_t left = place.before.size() - tokens_count;
  place.move_to(place.before[left]);
  place.before.resize(left);
  place.ended = false;
  place.bytes_behind = 0;
  place.too_complex = place.machine().is_too_complex();
}

size_t Matcher::accepted_count() const {
  return place_->before.size();
}

bool Matcher::can_end() const {
  return place_->can_end;
}

bool Matcher::must_end() const {
  return place_->ended || (place_->can_end && !place_->goes_on);
}

size_t Matcher::bytes_behind_end() const {
  return place_->bytes_behind;
}

bool Matcher::too_complex() const {
  return place_->too_complex;
}

std::shared_ptr<const TokenMask> Matcher::mask() {
  // So much at a time, about 50 us; between, others have their turn.
  constexpr size_t kNodesPerTurn = 10'000;
  for (;;) {
    if (auto mask = mask_within(kNodesPerTurn)) return mask;
    place_->machine().let_others();
  }
}

std::shared_ptr<const TokenMask> Matcher::mask_within(size_t nodes_max) {
  Place& place = *place_;
  CompiledGrammar::Machine& machine = place.machine();
  const CompiledGrammar::Machine::Lock lock(machine);
  if (place.ended || place.too_complex) return machine.empty_mask();
  machine.recognizer().reset_too_complex();
  const StateId key = machine.mask_key(place.state);
  if (auto known = machine.known_mask(key)) {
    place.walk.reset();
    return known;
  }
  if (place.walk == nullptr || place.walk_key != key) {
    place.walk = std::make_unique<MaskWalk>(machine.tables(), machine.recognizer(), key,
                                            machine.has_begun(key));
    place.walk_key = key;
  }
  const bool is_over = place.walk->advance(machine.recognizer(), nodes_max);
  if (machine.recognizer().too_complex()) {
    place.too_complex = true;
    place.walk.reset();
    machine.limit_states();
    return machine.empty_mask();
  }
  if (!is_over) {
    machine.limit_states();
    return nullptr;
  }
  auto mask = machine.keep_mask(key, place.walk->take());
  place.walk.reset();
  machine.limit_states();
  return mask;
}

std::string Matcher::forced_bytes(size_t bytes_max) const {
  const Place& place = *place_;
  std::string forced;
  if (place.ended || place.too_complex) return forced;
  CompiledGrammar::Machine& machine = place.machine();
  const CompiledGrammar::Machine::Lock lock(machine);
  Recognizer& recognizer = machine.recognizer();
  recognizer.reset_too_complex();
  StateId state = place.state;
  while (forced.size() < bytes_max && !recognizer.can_end(state)) {
    const std::optional<uint8_t> byte = recognizer.only_byte(state);
    if (!byte || recognizer.too_complex()) {
      // The first bytes of a character that is not decided yet are nothing one can have alone.
      forced.resize(forced.size() - utf8_incomplete_tail(forced));
      break;
    }
    forced += static_cast<char>(*byte);
    state = recognizer.step(state, *byte);
  }
  machine.limit_states();
  return forced;
}

}  // namespace windrow::grammar
