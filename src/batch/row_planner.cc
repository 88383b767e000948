#include "batch/row_planner.h"

#include <algorithm>
#include <array>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <cstring>
#include <iterator>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/hash.h"
#include "batch/result_line.h"
#include "llm/raw_body.h"

namespace windrow::batch {

namespace json = boost::json;

namespace {

// Bytes in pieces of any size, hashed in blocks that each go on from the one before.
class Blocks {
 public:
  explicit Blocks(uint64_t start, size_t bytes = 0) : state_(start) {
    key_.blocks.reserve(bytes / kPromptBlockBytes + 1);
    give_out();
  }

  void add(std::string_view text) {
    key_.prompt_bytes += text.size();
    if (held_ > 0) {
      const size_t taken = std::min(text.size(), kPromptBlockBytes - held_);
      std::memcpy(block_.data() + held_, text.data(), taken);
      held_ += taken;
      text.remove_prefix(taken);
      if (held_ < kPromptBlockBytes) return;
      hash(std::string_view(block_.data(), kPromptBlockBytes));
      held_ = 0;
    }
    for (; text.size() >= kPromptBlockBytes; text.remove_prefix(kPromptBlockBytes))
      hash(text.substr(0, kPromptBlockBytes));
    std::copy(text.begin(), text.end(), block_.begin());
    held_ = text.size();
  }

  // A last block that is not full is left out.
  PromptKey take() {
    key_.blocks.shrink_to_fit();
    return std::move(key_);
  }

 private:
  void hash(std::string_view block) {
    state_ = hash64(block, state_);
    give_out();
  }

  void give_out() { key_.blocks.push_back(static_cast<uint32_t>(state_)); }

  uint64_t state_;
  PromptKey key_;
  std::array<char, kPromptBlockBytes> block_ = {};
  size_t held_ = 0;  // bytes of block_ that are there
};

void add_value(const json::value& value, Blocks& blocks) {
  if (const json::string* text = value.if_string()) {
    blocks.add(*text);
  } else if (!value.is_null()) {
    blocks.add(json::serialize(value));
  }
  blocks.add("\n");
}

void add_message(const json::value& message, Blocks& blocks) {
  const json::object* object = message.if_object();
  if (object == nullptr) return add_value(message, blocks);
  // However the members were ordered.
  for (const char* name : {"role", "content"}) {
    if (const json::value* value = object->if_contains(name)) add_value(*value, blocks);
  }
  for (const auto& [name, value] : *object) {
    if (name == "role" || name == "content") continue;
    blocks.add(name);
    add_value(value, blocks);
  }
}

void add_chat(const llm::Chat& chat, Blocks& blocks) {
  if (!chat.tools.empty()) blocks.add(json::serialize(chat.tools));
  if (!chat.template_arguments.empty()) blocks.add(json::serialize(chat.template_arguments));
  for (const json::value& message : chat.messages)
    add_message(message, blocks);
}

void add_tokens(const std::vector<int32_t>& tokens, Blocks& blocks) {
  blocks.add(std::string_view(reinterpret_cast<const char*>(tokens.data()),
                              tokens.size() * sizeof(tokens[0])));
}

void add_input(const llm::Input& input, Blocks& blocks) {
  if (input.tokens.empty()) {
    blocks.add(input.text);
    blocks.add("\n");
  } else {
    add_tokens(input.tokens, blocks);
  }
}

}  // namespace

size_t shared_blocks(const PromptKey& one, const PromptKey& other) {
  const auto [end, other_end] = std::ranges::mismatch(one.blocks, other.blocks);
  return static_cast<size_t>(end - one.blocks.begin());
}

PromptKey prompt_key(const llm::Request& request) {
  if (request.endpoint == llm::Endpoint::kEmbeddings ||
      request.endpoint == llm::Endpoint::kRerank) {
    return {};
  }
  const uint64_t start = hash64(request.model, static_cast<uint64_t>(request.endpoint));
  if (!request.raw.empty()) {
    std::string buffer;
    const std::string_view prompt = llm::raw_prompt(request, buffer);
    Blocks blocks(start, prompt.size());
    blocks.add(prompt);
    return blocks.take();
  }
  Blocks blocks(start);
  if (!request.chat_tokens.empty()) {
    add_tokens(request.chat_tokens, blocks);
  } else if (request.endpoint == llm::Endpoint::kChatCompletions) {
    add_chat(request.chat, blocks);
  }
  for (const llm::Input& input : request.inputs)
    add_input(input, blocks);
  return blocks.take();
}

PromptKey prompt_key(const Row& row) {
  return row.form == RowForm::kInputs ? PromptKey{} : prompt_key(row.request);
}

namespace {

// The assumed bytes of a token, to compare prompts with answers.
constexpr size_t kBytesPerToken = 4;

size_t decode_tokens_max(const llm::Request& request) {
  const int64_t each = std::max(request.output_tokens_max.value_or(0), 0);
  return static_cast<size_t>(each * std::max(request.choices, 1));
}

}  // namespace

size_t RowPlanner::cost_of(const Row& row, const PromptKey& key) {
  return row.bytes + key.bytes() + kQueuedOverheadBytes;
}

// --- groups -----------------------------------------------------------------------------------

void RowPlanner::Sums::add(const Waiting& row) {
  ++rows;
  prompt_bytes += row.key.prompt_bytes;
  decode_tokens += decode_tokens_max(row.row.request);
  oldest = std::min(oldest, row.number);
}

void RowPlanner::Sums::add(const Sums& other) {
  rows += other.rows;
  prompt_bytes += other.prompt_bytes;
  decode_tokens += other.decode_tokens;
  oldest = std::min(oldest, other.oldest);
}

// The first number of a key is no part of the prompt, and what is shared is prefilled once.
bool RowPlanner::Group::decodes_much() const {
  const size_t saved = (sums.rows - 1) * (blocks - 1) * kPromptBlockBytes;
  return sums.decode_tokens * kBytesPerToken > sums.prompt_bytes - saved;
}

bool RowPlanner::Group::goes_before(const Group& other) const {
  const auto rank = [](const Group& group) {
    return std::tuple(!group.decodes_much(), SIZE_MAX - group.blocks, group.sums.oldest);
  };
  return rank(*this) < rank(other);
}

// The next element comes last, where it is cheap to remove.
void RowPlanner::put_in_order(Group& group) {
  std::ranges::sort(group.groups,
                    [](const Group& one, const Group& other) { return other.goes_before(one); });
  std::ranges::sort(group.rows, std::ranges::greater(),
                    [](const auto& row) { return row->number; });
}

// The innermost group has all its rows. It becomes one of the group around it, which is made where
// the open ones share less than `parent_blocks`.
void RowPlanner::close_group(std::vector<Group>& open, size_t parent_blocks,
                             uint32_t parent_prefix) {
  Group closed = std::move(open.back());
  open.pop_back();
  put_in_order(closed);
  if (open.back().blocks < parent_blocks) {
    open.push_back(Group{.blocks = parent_blocks, .prefix = parent_prefix});
  }
  open.back().sums.add(closed.sums);
  open.back().groups.push_back(std::move(closed));
}

// The groups of `rows`, within what all rows of an endpoint and model share. Neighbours in the
// order of the keys share most, so one pass over them opens and closes every group.
RowPlanner::Group RowPlanner::plan(Rows rows) {
  Group round;
  const auto keyed = std::partition(rows.begin(), rows.end(),
                                    [](const auto& row) { return row->key.blocks.empty(); });
  std::move(rows.begin(), keyed, std::back_inserter(round.rows));
  std::sort(keyed, rows.end(), [](const auto& one, const auto& other) {
    return std::tie(one->key.blocks, one->number) < std::tie(other->key.blocks, other->number);
  });

  std::vector<Group> open(1);
  for (auto row = keyed; row != rows.end(); ++row) {
    const auto after = std::next(row);
    const size_t shared = after == rows.end() ? 0 : shared_blocks((*row)->key, (*after)->key);
    const uint32_t prefix = shared == 0 ? 0 : (*row)->key.blocks[shared - 1];
    if (shared > open.back().blocks) open.push_back(Group{.blocks = shared, .prefix = prefix});
    open.back().sums.add(**row);
    open.back().rows.push_back(std::move(*row));
    while (open.back().blocks > shared)
      close_group(open, shared, prefix);
  }
  take_apart(std::move(open.front()), round);
  put_in_order(round);
  return round;
}

// A prefix of all rows of an endpoint and model distinguishes none of them.
void RowPlanner::take_apart(Group whole, Group& round) {
  std::ranges::move(whole.rows, std::back_inserter(round.rows));
  for (Group& alike : whole.groups) {
    std::ranges::move(alike.rows, std::back_inserter(round.rows));
    std::ranges::move(alike.groups, std::back_inserter(round.groups));
  }
}

// --- in and out -------------------------------------------------------------------------------

RowPlanner::Group* RowPlanner::group_to_join(const PromptKey& key) {
  if (joined_ == limits_.joins_max) return nullptr;
  const auto found = std::find_if(open_.rbegin(), open_.rend(), [&](const Group& group) {
    return group.blocks > 0 && group.blocks <= key.blocks.size() &&
           key.blocks[group.blocks - 1] == group.prefix;
  });
  return found == open_.rend() ? nullptr : &*found;
}

void RowPlanner::add(Row row, PromptKey key) {
  const size_t cost = cost_of(row, key);
  ++size_;
  bytes_ += cost;
  Group* const joins = group_to_join(key);
  if (joins != nullptr) ++joined_;
  (joins != nullptr ? joins->late : waiting_)
      .push_back(std::make_unique<Waiting>(
          Waiting{.row = std::move(row), .key = std::move(key), .number = added_++, .cost = cost}));
}

std::optional<Row> RowPlanner::next() {
  if (size_ == 0) return std::nullopt;
  for (;;) {
    if (open_.empty()) {
      open_.push_back(plan(std::exchange(waiting_, {})));
      joined_ = 0;
    }
    Group& group = open_.back();
    if (!group.groups.empty()) {
      Group inner = std::move(group.groups.back());
      group.groups.pop_back();
      open_.push_back(std::move(inner));
    } else if (!group.rows.empty()) {
      const std::unique_ptr<Waiting> taken = std::move(group.rows.back());
      group.rows.pop_back();
      --size_;
      bytes_ -= taken->cost;
      // The innermost group of those that tell rows apart.
      taken->row.group = group.blocks > 0 ? group.prefix : 0;
      return std::move(taken->row);
    } else if (!group.late.empty()) {
      Group more = plan(std::exchange(group.late, {}));
      group.groups = std::move(more.groups);
      group.rows = std::move(more.rows);
    } else {
      open_.pop_back();
    }
  }
}

}  // namespace windrow::batch
