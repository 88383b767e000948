#include "api/memory/memory_routes.h"

#include <array>

#include "api/memory/memory_endpoints.h"

namespace windrow::api {

namespace {

constexpr std::string_view kNoMentalModels =
    "mental models are not there; observations say what a bank has learnt: POST "
    ".../memories/recall "
    "with types [\"observation\"]";
constexpr std::string_view kNoKnowledgeBase =
    "the knowledge base is not there; keep texts as documents: POST .../memories with a "
    "document_id";
constexpr std::string_view kNoDirectives =
    "directives are not there; put them into reflect_mission: PATCH .../config";
constexpr std::string_view kNoGraph =
    "the graph is not drawn; GET .../memories/list has the memories with their entities and "
    "sources";
constexpr std::string_view kNoTransfer =
    "banks are not moved over HTTP; a bank is one file of the server's memory folder, and the "
    "operator copies it while the server is stopped";
constexpr std::string_view kNoTemplates =
    "templates of banks are not there; GET .../config and PATCH .../config have the settings";
constexpr std::string_view kNoWebhooks =
    "webhooks are not there; GET .../operations says what has ended";
constexpr std::string_view kNoFiles =
    "files are not converted; send their text: POST .../memories with a document_id";
constexpr std::string_view kNoAudit =
    "there is no audit log; the server's log of requests (--log) has a line for each";
constexpr std::string_view kNoTraces =
    "calls of models are not kept; /metrics counts them, and the server's log has the requests";

constexpr MemoryWait kModels = MemoryWait::kModels;

constexpr MemoryRoute absent(std::string_view method, std::string_view path,
                             std::string_view instead) {
  return {.method = method, .path = path, .instead = instead};
}

#define WINDROW_BANK "/v1/default/banks/{bank_id}"

constexpr auto kRoutes = std::to_array<MemoryRoute>({
    {"GET", "/v1/default/banks", list_banks},
    {"PUT", WINDROW_BANK, put_bank},
    {"PATCH", WINDROW_BANK, patch_bank},
    {"DELETE", WINDROW_BANK, delete_bank},
    {"GET", WINDROW_BANK "/profile", get_profile},
    {"PUT", WINDROW_BANK "/profile", put_profile},
    absent("POST", WINDROW_BANK "/background",
           "a background is not merged; set the whole mission: PATCH of the bank"),
    {"GET", WINDROW_BANK "/config", get_config},
    {"PATCH", WINDROW_BANK "/config", patch_config},
    {"DELETE", WINDROW_BANK "/config", reset_config},
    {"GET", WINDROW_BANK "/stats", get_stats},
    absent("GET", WINDROW_BANK "/stats/memories-timeseries",
           "memories are not counted by time; GET .../stats has the totals"),
    absent("POST", WINDROW_BANK "/health/llm",
           "models are not tried out; GET /ready?model=NAME says whether one can be asked"),

    {"POST", WINDROW_BANK "/memories", retain_memories, kModels},
    {"DELETE", WINDROW_BANK "/memories", clear_memories},
    {"GET", WINDROW_BANK "/memories/list", list_memories},
    {"POST", WINDROW_BANK "/memories/recall", recall_memories, kModels},
    absent("POST", WINDROW_BANK "/memories/dry-run-extract",
           "an extraction is not tried out; retain into a bank of its own and list its memories"),
    {"GET", WINDROW_BANK "/memories/{memory_id}", get_memory},
    {"PATCH", WINDROW_BANK "/memories/{memory_id}", patch_memory, kModels},
    {"GET", WINDROW_BANK "/memories/{memory_id}/history", get_history},
    {"DELETE", WINDROW_BANK "/memories/{memory_id}/observations", clear_observations_of_memory},
    {"POST", WINDROW_BANK "/reflect", reflect_on_memories, kModels},
    {"GET", WINDROW_BANK "/tags", list_tags},

    {"POST", WINDROW_BANK "/consolidate", consolidate_bank},
    {"POST", WINDROW_BANK "/consolidation/recover", recover_bank},
    {"DELETE", WINDROW_BANK "/observations", clear_observations},
    {"GET", WINDROW_BANK "/observations/scopes", list_scopes},
    {"GET", WINDROW_BANK "/operations", list_operations},
    {"GET", WINDROW_BANK "/operations/{operation_id}", get_operation},
    {"DELETE", WINDROW_BANK "/operations/{operation_id}", cancel_operation},
    {"POST", WINDROW_BANK "/operations/{operation_id}/retry", retry_operation},
    {"DELETE", WINDROW_BANK "/operations/{operation_id}/delete", delete_operation},

    {"GET", WINDROW_BANK "/documents", list_documents},
    {"GET", WINDROW_BANK "/documents/{document_id}/chunks", list_chunks},
    absent("POST", WINDROW_BANK "/documents/{document_id}/reprocess",
           "a document is not read again; retain its text again with its document_id"),
    {"GET", WINDROW_BANK "/documents/{document_id}", get_document},
    {"PATCH", WINDROW_BANK "/documents/{document_id}", patch_document},
    {"DELETE", WINDROW_BANK "/documents/{document_id}", delete_document},
    {"GET", "/v1/default/chunks/{chunk_id}", get_chunk},

    {"GET", WINDROW_BANK "/entities", list_entities},
    absent("GET", WINDROW_BANK "/entities/graph", kNoGraph),
    {"GET", WINDROW_BANK "/entities/{entity_id}", get_entity},
    absent("POST", WINDROW_BANK "/entities/{entity_id}/regenerate",
           "entities have no observations of their own; POST .../consolidate makes those of tags"),
    absent("GET", WINDROW_BANK "/graph", kNoGraph),

    absent("GET", WINDROW_BANK "/mental-models", kNoMentalModels),
    absent("POST", WINDROW_BANK "/mental-models", kNoMentalModels),
    absent("GET", WINDROW_BANK "/mental-models/{mental_model_id}", kNoMentalModels),
    absent("PATCH", WINDROW_BANK "/mental-models/{mental_model_id}", kNoMentalModels),
    absent("DELETE", WINDROW_BANK "/mental-models/{mental_model_id}", kNoMentalModels),
    absent("GET", WINDROW_BANK "/mental-models/{mental_model_id}/history", kNoMentalModels),
    absent("POST", WINDROW_BANK "/mental-models/{mental_model_id}/refresh", kNoMentalModels),
    absent("POST", WINDROW_BANK "/mental-models/{mental_model_id}/dry-run-refresh",
           kNoMentalModels),
    absent("POST", WINDROW_BANK "/mental-models/{mental_model_id}/clear", kNoMentalModels),
    absent("GET", WINDROW_BANK "/knowledge-base/tree", kNoKnowledgeBase),
    absent("POST", WINDROW_BANK "/knowledge-base/folders", kNoKnowledgeBase),
    absent("POST", WINDROW_BANK "/knowledge-base/pages", kNoKnowledgeBase),
    absent("GET", WINDROW_BANK "/knowledge-base/export", kNoKnowledgeBase),
    absent("GET", WINDROW_BANK "/knowledge-base/search", kNoKnowledgeBase),
    absent("GET", WINDROW_BANK "/knowledge-base/pages/{page_id}", kNoKnowledgeBase),
    absent("PATCH", WINDROW_BANK "/knowledge-base/nodes/{node_id}", kNoKnowledgeBase),
    absent("DELETE", WINDROW_BANK "/knowledge-base/nodes/{node_id}", kNoKnowledgeBase),
    absent("GET", WINDROW_BANK "/directives", kNoDirectives),
    absent("POST", WINDROW_BANK "/directives", kNoDirectives),
    absent("GET", WINDROW_BANK "/directives/{directive_id}", kNoDirectives),
    absent("PATCH", WINDROW_BANK "/directives/{directive_id}", kNoDirectives),
    absent("DELETE", WINDROW_BANK "/directives/{directive_id}", kNoDirectives),
    absent("POST", WINDROW_BANK "/import", kNoTemplates),
    absent("GET", WINDROW_BANK "/export", kNoTemplates),
    absent("GET", "/v1/bank-template-schema", kNoTemplates),
    absent("GET", WINDROW_BANK "/document-transfer", kNoTransfer),
    absent("POST", WINDROW_BANK "/document-transfer", kNoTransfer),
    absent("POST", WINDROW_BANK "/document-transfer/export", kNoTransfer),
    absent("GET", "/v1/default/files/download/{key}", kNoTransfer),
    absent("POST", WINDROW_BANK "/webhooks", kNoWebhooks),
    absent("GET", WINDROW_BANK "/webhooks", kNoWebhooks),
    absent("DELETE", WINDROW_BANK "/webhooks/{webhook_id}", kNoWebhooks),
    absent("PATCH", WINDROW_BANK "/webhooks/{webhook_id}", kNoWebhooks),
    absent("GET", WINDROW_BANK "/webhooks/{webhook_id}/deliveries", kNoWebhooks),
    absent("POST", WINDROW_BANK "/files/retain", kNoFiles),
    absent("GET", WINDROW_BANK "/audit-logs", kNoAudit),
    absent("GET", WINDROW_BANK "/audit-logs/stats", kNoAudit),
    absent("GET", WINDROW_BANK "/llm-requests", kNoTraces),
    absent("GET", WINDROW_BANK "/llm-requests/stats", kNoTraces),
});

#undef WINDROW_BANK

}  // namespace

std::span<const MemoryRoute> memory_routes() {
  return kRoutes;
}

}  // namespace windrow::api
