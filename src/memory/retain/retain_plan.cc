#include "memory/retain/retain_plan.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "memory/bank/new_id.h"
#include "memory/retain/chunks.h"

namespace windrow::memory {
namespace {

// A document of the call: the items that are its text.
struct DocumentItems {
  std::string id;
  std::vector<size_t> items;
};

struct StoredDocument {
  std::optional<Document> document;
  std::vector<Chunk> chunks;
};

Result<StoredDocument> stored_document(BankStore& store, const std::string& id) {
  Result<Document> document = store.document(id);
  if (!document && document.error().kind == ErrorKind::kNotFound) return StoredDocument();
  if (!document) return document.error();
  Result<std::vector<Chunk>> chunks = store.chunks(id);
  if (!chunks) return chunks.error();
  return StoredDocument{.document = *std::move(document), .chunks = *std::move(chunks)};
}

Tags united(const Tags& one, const Tags& other) {
  std::vector<std::string> tags = one.list();
  tags.insert(tags.end(), other.list().begin(), other.list().end());
  return Tags(std::move(tags));
}

void add_before(const Document& old, Document& document) {
  document.text = old.text + "\n\n" + document.text;
  document.tags = united(old.tags, document.tags);
  if (document.context.empty()) document.context = old.context;
  document.metadata.insert(old.metadata.begin(), old.metadata.end());
  document.created = old.created;
}

class Planner {
 public:
  Planner(std::string bank, const std::vector<RetainItem>& items, const PlanOptions& options)
      : bank_(std::move(bank)), items_(items), options_(options) {}

  // Items without a document are planned at once.
  std::vector<DocumentItems> documents_of_items() {
    std::vector<DocumentItems> documents;
    for (size_t i = 0; i < items_.size(); ++i) {
      const std::string& id = items_[i].document_id;
      const auto known = std::ranges::find(documents, id, &DocumentItems::id);
      if (!id.empty() && known != documents.end()) {
        known->items.push_back(i);
      } else if (!id.empty() || options_.keeps_texts) {
        documents.push_back({.id = id.empty() ? new_uuid() : id, .items = {i}});
      } else {
        for (std::string& text : chunks_of(items_[i].content, options_.characters_max))
          plan_.pieces.push_back({.item = i, .text = std::move(text)});
      }
    }
    return documents;
  }

  void add(const DocumentItems& planned, const StoredDocument& stored) {
    std::vector<std::string> texts;
    std::vector<size_t> item_of_text;
    for (const size_t item : planned.items) {
      for (std::string& text : chunks_of(items_[item].content, options_.characters_max)) {
        texts.push_back(std::move(text));
        item_of_text.push_back(item);
      }
    }
    Document document = document_of(planned);
    DocumentDelta delta;
    if (items_[planned.items.front()].update == DocumentUpdate::kAppend) {
      delta = appended(bank_, planned.id, stored.chunks, texts);
      if (stored.document) add_before(*stored.document, document);
    } else if (!stored.document || keeps_labels(planned, *stored.document)) {
      delta = replaced(bank_, planned.id, stored.chunks, texts);
    } else {
      delta = replaced(bank_, planned.id, {}, texts);
      for (const Chunk& chunk : stored.chunks)
        delta.gone.push_back(chunk.id);
    }

    for (AddedChunk& added : delta.added) {
      plan_.pieces.push_back({.item = item_of_text[added.text],
                              .text = added.chunk.text,
                              .document_id = planned.id,
                              .chunk_id = added.chunk.id});
      plan_.chunks.push_back(std::move(added.chunk));
    }
    std::ranges::move(delta.gone, std::back_inserter(plan_.chunks_gone));
    plan_.documents.push_back(std::move(document));
    plan_.texts_before.push_back(stored.document ? std::optional(stored.document->text)
                                                 : std::nullopt);
  }

  RetainPlan take() { return std::move(plan_); }

 private:
  // As the items of this call make it.
  Document document_of(const DocumentItems& planned) const {
    Document document{.id = planned.id, .created = options_.now, .updated = options_.now};
    for (const size_t i : planned.items) {
      const RetainItem& item = items_[i];
      if (!document.text.empty()) document.text += "\n\n";
      document.text += item.content;
      document.tags = united(document.tags, item.tags);
      if (document.context.empty()) document.context = item.context;
      document.metadata.insert(item.metadata.begin(), item.metadata.end());
    }
    return document;
  }

  // Whether facts of the stored document have what those of these items would have beside the text.
  bool keeps_labels(const DocumentItems& planned, const Document& stored) const {
    return std::ranges::all_of(planned.items, [&](size_t i) {
      return items_[i].tags == stored.tags && items_[i].context == stored.context &&
             items_[i].metadata == stored.metadata;
    });
  }

  const std::string bank_;
  const std::vector<RetainItem>& items_;
  const PlanOptions& options_;
  RetainPlan plan_;
};

}  // namespace

Result<RetainPlan> plan_of(BankStore& store, const std::vector<RetainItem>& items,
                           const PlanOptions& options) {
  const Result<Bank> bank = store.bank();
  if (!bank) return bank.error();
  Planner planner(bank->id.text, items, options);
  for (const DocumentItems& planned : planner.documents_of_items()) {
    const Result<StoredDocument> stored = stored_document(store, planned.id);
    if (!stored) return stored.error();
    planner.add(planned, *stored);
  }
  return planner.take();
}

}  // namespace windrow::memory
