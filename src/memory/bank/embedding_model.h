// EmbeddingModel: the vectors of a bank are those of one model. A bank without vectors takes any.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "memory/bank/bank_store.h"

namespace windrow::memory {

// kConflict, with what to do, if the bank's vectors are those of another model.
Result<void> check_embedding_model(const Bank& bank, std::string_view model);

// Notes the model in the bank before vectors of it are stored. kConflict as above; kDiskFull, kIo.
Result<void> take_embedding_model(BankStore& store, std::string_view model);

}  // namespace windrow::memory
