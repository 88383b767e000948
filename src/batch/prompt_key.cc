#include "batch/prompt_key.h"

#include <algorithm>
#include <array>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "base/hash.h"
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

void add_input(const llm::Input& input, Blocks& blocks) {
  if (input.tokens.empty()) {
    blocks.add(input.text);
    blocks.add("\n");
  } else {
    blocks.add(std::string_view(reinterpret_cast<const char*>(input.tokens.data()),
                                input.tokens.size() * sizeof(input.tokens[0])));
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
  if (request.endpoint == llm::Endpoint::kChatCompletions) add_chat(request.chat, blocks);
  for (const llm::Input& input : request.inputs)
    add_input(input, blocks);
  return blocks.take();
}

}  // namespace windrow::batch
