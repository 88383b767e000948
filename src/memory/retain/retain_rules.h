// The rules of a retain: what a client may send, and whether a model extracts the facts. Pure; any
// thread.
#pragma once

#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "llm/answer.h"
#include "memory/bank/bank.h"
#include "memory/retain/retain.h"

namespace windrow::memory {

constexpr size_t kContentBytesMax = 4'000'000;

// A 400 that names the item and what to do; nothing: the items can be retained.
std::optional<llm::Failure> fault_of(const std::vector<RetainItem>& items);

// When the content was said; nothing: it has no date.
std::optional<UnixMs> mentioned_at(const RetainItem& item, UnixMs now);

// Whether a model extracts the facts, for a bank's mode and what prevents its chat model from being
// asked (MemoryModels::chat_fault). A failure that passes is not a reason to store word for word.
std::variant<bool, llm::Failure> extracts(const BankConfig& config,
                                          const std::optional<llm::Failure>& chat_fault);

}  // namespace windrow::memory
