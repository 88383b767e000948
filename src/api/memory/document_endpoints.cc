// Endpoints about documents and their chunks.
#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <iterator>
#include <utility>

#include "api/memory/memory_endpoints.h"
#include "api/memory/memory_json.h"
#include "api/memory/memory_requests.h"
#include "api/memory/object_reader.h"

namespace windrow::api {

namespace json = boost::json;

namespace {

// Documents that are read at a time where they are filtered here; each has its whole text.
constexpr int64_t kReadAtATime = 100;

llm::Failure no_such_document() {
  return {.failure_class = llm::FailureClass::kRequest,
          .status = 404,
          .code = "document_not_found",
          .message = "Document not found"};
}

llm::Failure document_failure(const Error& error) {
  if (error.kind == ErrorKind::kNotFound) return no_such_document();
  return store_failure(error, "document");
}

// The documents whose tags pass, of all that have `text` in their id.
PartAnswer filtered_documents(const MemoryRequest& request, memory::BankStore& store,
                              const std::string& text, const memory::TagFilter& filter,
                              const PageQuery& page) {
  json::array items;
  int64_t passed = 0;
  int64_t total = 0;
  int64_t offset = 0;
  do {
    const auto found = store.documents(text, kReadAtATime, offset, &total);
    if (!found) return store_failure(found.error(), "bank");
    if (found->empty()) break;
    offset += std::ssize(*found);
    for (const memory::Document& document : *found) {
      if (!filter.passes(document.tags)) continue;
      const int64_t index = passed++;
      if (index >= page.offset && index < page.offset + page.limit)
        items.emplace_back(document_item(request.bank, document));
    }
  } while (offset < total);
  return memory_reply(page_json(std::move(items), passed, page.limit, page.offset));
}

Result<int64_t> count_of(memory::BankStore& store, const std::string& document,
                         memory::MemoryType type) {
  const auto page = store.list({.types = {type}, .document_id = document, .limit = 0});
  if (!page) return page.error();
  return page->total;
}

// The facts of a document, invalidated ones included.
Result<std::vector<memory::Memory>> facts_of(memory::BankStore& store,
                                             const std::string& document) {
  std::vector<memory::Memory> facts;
  for (const bool valid : {true, false}) {
    memory::MemoryQuery query{.valid = valid, .document_id = document, .limit = kPageMax};
    int64_t total = 0;
    do {
      auto page = store.list(query);
      if (!page) return page.error();
      if (page->memories.empty()) break;
      total = page->total;
      query.offset += std::ssize(page->memories);
      std::ranges::move(page->memories, std::back_inserter(facts));
    } while (query.offset < total);
  }
  return facts;
}

}  // namespace

PartAnswer list_documents(const MemoryRequest& request) {
  const auto read = read_page(request.query, 100, 0);
  if (const auto* failure = failure_of_reply(read)) return *failure;
  const auto page = std::get<PageQuery>(read);
  const auto tags = read_tag_filter(request.query, memory::TagsMatch::kAnyStrict);
  if (const auto* failure = failure_of_reply(tags)) return *failure;
  const auto& filter = std::get<memory::TagFilter>(tags);
  const std::string text = request.query.text("q").value_or("");
  return with_store(
      request, memory_reply(page_json({}, 0, page.limit, page.offset)),
      [&](memory::BankStore& store) -> PartAnswer {
        if (!filter.passes_all()) return filtered_documents(request, store, text, filter, page);
        int64_t total = 0;
        const auto found = store.documents(text, page.limit, page.offset, &total);
        if (!found) return store_failure(found.error(), "bank");
        json::array items;
        for (const memory::Document& document : *found)
          items.emplace_back(document_item(request.bank, document));
        return memory_reply(page_json(std::move(items), total, page.limit, page.offset));
      });
}

PartAnswer get_document(const MemoryRequest& request) {
  const std::string& id = request.parts[1];
  return with_store(request, no_such_document(), [&](memory::BankStore& store) -> PartAnswer {
    const auto document = store.document(id);
    if (!document) return document_failure(document.error());
    TypeCounts counts;
    for (const auto& [type, count] :
         {std::pair{memory::MemoryType::kWorld, &counts.world},
          std::pair{memory::MemoryType::kExperience, &counts.experience}}) {
      const auto counted = count_of(store, id, type);
      if (!counted) return store_failure(counted.error(), "bank");
      *count = *counted;
    }
    return memory_reply(document_detail(request.bank, *document, counts));
  });
}

// Each fact is changed by itself: if the server ends in between, the request is to be repeated,
// which its client knows because it has no reply. The document is last, so it never says more than
// is done.
PartAnswer patch_document(const MemoryRequest& request) {
  const std::string& id = request.parts[1];
  const auto body = read_object(request.body);
  if (const auto* failure = failure_of_reply(body)) return *failure;
  llm::Problem problem;
  ObjectReader from(std::get<json::object>(body), "body", problem);
  const auto listed = from.texts("tags");
  if (problem) return *problem;
  if (!listed) {
    llm::Failure nothing = unprocessable("", "At least one field (tags) must be provided");
    return nothing;
  }
  const memory::Tags tags(*listed);
  return with_store(request, no_such_document(), [&](memory::BankStore& store) -> PartAnswer {
    auto document = store.document(id);
    if (!document) return document_failure(document.error());
    const auto facts = facts_of(store, id);
    if (!facts) return store_failure(facts.error(), "bank");
    const auto now = request.now_ms();
    for (const memory::Memory& fact : *facts) {
      const auto edited = store.edit_memory(
          fact.id,
          [&](memory::Memory& memory) {
            memory.tags = tags;
            return Result<void>();
          },
          now);
      if (!edited && edited.error().kind != ErrorKind::kNotFound)
        return store_failure(edited.error(), "memory");
    }
    document->tags = tags;
    memory::Retained retained;
    retained.texts_before.emplace_back(document->text);
    retained.documents.push_back(*std::move(document));
    const auto kept = store.retain(retained, now);
    if (!kept) return store_failure(kept.error(), "document");
    consolidate_again(request);
    return memory_reply(json::object{{"success", true}});
  });
}

PartAnswer delete_document(const MemoryRequest& request) {
  const std::string& id = request.parts[1];
  return with_store(request, no_such_document(), [&](memory::BankStore& store) -> PartAnswer {
    const auto removed = store.delete_document(id, request.now_ms());
    if (!removed) return document_failure(removed.error());
    if (*removed > 0) consolidate_again(request);
    return memory_reply(json::object{
        {"success", true},
        {"message", fmt::format("Document '{}' and {} associated memory units deleted successfully",
                                id, *removed)},
        {"document_id", id},
        {"memory_units_deleted", *removed}});
  });
}

PartAnswer list_chunks(const MemoryRequest& request) {
  const std::string& id = request.parts[1];
  const auto read = read_page(request.query, 100, 1, 1000);
  if (const auto* failure = failure_of_reply(read)) return *failure;
  const auto page = std::get<PageQuery>(read);
  return with_store(request, no_such_document(), [&](memory::BankStore& store) -> PartAnswer {
    const auto document = store.document(id);
    if (!document) return document_failure(document.error());
    const auto chunks = store.chunks(id);
    if (!chunks) return store_failure(chunks.error(), "document");
    json::array items;
    const auto total = std::ssize(*chunks);
    for (auto i = page.offset; i < std::min(total, page.offset + page.limit); ++i) {
      items.emplace_back(
          chunk_json(request.bank, (*chunks)[static_cast<size_t>(i)], document->created));
    }
    return memory_reply(page_json(std::move(items), total, page.limit, page.offset));
  });
}

// The id of a chunk begins with that of its bank ("bank_document_0"), and both may have
// underscores, so each beginning is looked at.
PartAnswer get_chunk(const MemoryRequest& request) {
  const std::string& id = request.parts[0];
  for (size_t at = id.find('_'); at != std::string::npos && at <= memory::kBankIdBytesMax;
       at = id.find('_', at + 1)) {
    const auto bank = memory::bank_id_from(std::string_view(id).substr(0, at));
    if (!bank) continue;
    const auto opened = request.service.store(request.viewer(), *bank);
    const auto* store = std::get_if<std::shared_ptr<memory::BankStore>>(&opened);
    if (store == nullptr) continue;
    const auto chunk = (*store)->chunk(id);
    if (!chunk) continue;
    const auto document = (*store)->document(chunk->document_id);
    if (!document) return document_failure(document.error());
    return memory_reply(chunk_json(*bank, *chunk, document->created));
  }
  return llm::Failure{.failure_class = llm::FailureClass::kRequest,
                      .status = 404,
                      .code = "chunk_not_found",
                      .message = "Chunk not found"};
}

}  // namespace windrow::api
