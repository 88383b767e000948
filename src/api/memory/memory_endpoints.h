// The endpoints of memory banks, by topic; memory_routes.cc says which path each is for. Each runs
// on a worker and may wait for the disk, or for models where MemoryWait::kModels is set.
#pragma once

#include "api/memory/memory_request.h"

namespace windrow::api {

// bank_endpoints.cc
PartAnswer list_banks(const MemoryRequest& request);
PartAnswer put_bank(const MemoryRequest& request);
PartAnswer patch_bank(const MemoryRequest& request);
PartAnswer delete_bank(const MemoryRequest& request);
PartAnswer get_profile(const MemoryRequest& request);
PartAnswer put_profile(const MemoryRequest& request);
PartAnswer get_config(const MemoryRequest& request);
PartAnswer patch_config(const MemoryRequest& request);
PartAnswer reset_config(const MemoryRequest& request);
PartAnswer get_stats(const MemoryRequest& request);
PartAnswer list_tags(const MemoryRequest& request);
PartAnswer list_scopes(const MemoryRequest& request);
PartAnswer list_entities(const MemoryRequest& request);
PartAnswer get_entity(const MemoryRequest& request);

// fact_endpoints.cc
PartAnswer retain_memories(const MemoryRequest& request);
PartAnswer recall_memories(const MemoryRequest& request);
PartAnswer reflect_on_memories(const MemoryRequest& request);
PartAnswer list_memories(const MemoryRequest& request);
PartAnswer get_memory(const MemoryRequest& request);
PartAnswer patch_memory(const MemoryRequest& request);
PartAnswer get_history(const MemoryRequest& request);
PartAnswer clear_memories(const MemoryRequest& request);
PartAnswer clear_observations(const MemoryRequest& request);
PartAnswer clear_observations_of_memory(const MemoryRequest& request);

// document_endpoints.cc
PartAnswer list_documents(const MemoryRequest& request);
PartAnswer get_document(const MemoryRequest& request);
PartAnswer patch_document(const MemoryRequest& request);
PartAnswer delete_document(const MemoryRequest& request);
PartAnswer list_chunks(const MemoryRequest& request);
PartAnswer get_chunk(const MemoryRequest& request);

// operation_endpoints.cc
PartAnswer list_operations(const MemoryRequest& request);
PartAnswer get_operation(const MemoryRequest& request);
PartAnswer cancel_operation(const MemoryRequest& request);
PartAnswer retry_operation(const MemoryRequest& request);
PartAnswer delete_operation(const MemoryRequest& request);
PartAnswer consolidate_bank(const MemoryRequest& request);
PartAnswer recover_bank(const MemoryRequest& request);

}  // namespace windrow::api
