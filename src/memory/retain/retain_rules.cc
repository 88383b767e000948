#include "memory/retain/retain_rules.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "base/utf8.h"

namespace windrow::memory {
namespace {

llm::Failure bad_item(size_t index, std::string_view member, std::string_view why) {
  const std::string param = fmt::format("items[{}].{}", index, member);
  return {.status = 400,
          .code = "invalid_value",
          .message = fmt::format("{} {}", param, why),
          .param = param};
}

std::optional<llm::Failure> fault_of_item(const RetainItem& item, size_t index) {
  if (item.content.find_first_not_of(" \t\n\r\f\v") == std::string::npos)
    return bad_item(index, "content", "is empty; write what is to be remembered");
  if (item.content.size() > kContentBytesMax) {
    return bad_item(index, "content",
                    fmt::format("has {} bytes; at most {} are taken, so divide it into items",
                                item.content.size(), kContentBytesMax));
  }
  if (!code_points(item.content)) return bad_item(index, "content", "is not UTF-8; convert it");
  if (item.scopes.kind == ScopeKind::kAllCombinations && item.tags.size() > kCombinedTagsMax) {
    return bad_item(index, "tags",
                    fmt::format("are {}; with the observation_scopes \"all_combinations\" there "
                                "may be {}, so use fewer tags, or list the scopes",
                                item.tags.size(), kCombinedTagsMax));
  }
  if (item.type == MemoryType::kObservation)
    return bad_item(index, "type", "is \"observation\"; facts are \"world\" or \"experience\"");
  return std::nullopt;
}

}  // namespace

std::optional<llm::Failure> fault_of(const std::vector<RetainItem>& items) {
  std::map<std::string_view, DocumentUpdate> updates;
  for (size_t i = 0; i < items.size(); ++i) {
    std::optional<llm::Failure> fault = fault_of_item(items[i], i);
    if (fault) return fault;
    if (items[i].document_id.empty()) continue;
    const auto [found, is_new] = updates.try_emplace(items[i].document_id, items[i].update);
    if (!is_new && found->second != items[i].update) {
      return bad_item(i, "update_mode",
                      fmt::format("is another than that of the items before with the document_id "
                                  "\"{}\"; use one for a document, or two requests",
                                  items[i].document_id));
    }
  }
  return std::nullopt;
}

std::optional<UnixMs> mentioned_at(const RetainItem& item, UnixMs now) {
  if (item.timestamp_unset) return std::nullopt;
  return item.timestamp.value_or(now);
}

std::variant<bool, llm::Failure> extracts(const BankConfig& config,
                                          const std::optional<llm::Failure>& chat_fault) {
  const std::string& mode = config.retain_extraction_mode;
  if (mode == "verbatim" || mode == "chunks") return false;
  if (!chat_fault) return true;
  if (chat_fault->failure_class == llm::FailureClass::kTransient) return *chat_fault;
  if (mode == "auto") return false;
  return llm::Failure{
      .status = 400,
      .code = "no_chat_model",
      .message = fmt::format("retain_extraction_mode is \"{}\", which needs a chat model, and "
                             "there is none: {}; or set retain_extraction_mode to \"verbatim\" to "
                             "store texts word for word",
                             mode, chat_fault->message),
      .param = "retain_extraction_mode"};
}

}  // namespace windrow::memory
