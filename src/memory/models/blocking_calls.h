// Calls of models by code that waits for them. Not on an event loop, nor on a thread that the
// models need to answer.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "memory/models/memory_models.h"

namespace windrow::memory {

// Waits for one vector per text; a model that returns another number of them is a failure. Nothing
// is asked for no texts.
EmbedOutcome embed_and_wait(MemoryModels& models, std::string_view model,
                            std::vector<std::string> texts, const ModelCaller& caller,
                            std::stop_token unwanted = {});

ChatOutcome chat_and_wait(MemoryModels& models, ChatCall call, std::stop_token unwanted = {});

// Does `parts` pieces of work, `in_flight_max` at a time, and waits until all have ended.
//
// `begin(part, unwanted, done)` starts one and returns; `done(failure)` is called once for it, on
// any thread. The first failure stops `unwanted`, so that no further ones begin and those in flight
// end soon, and is returned. Stopping `all_unwanted` stops it, too.
std::optional<llm::Failure> do_in_parallel(
    size_t parts, int32_t in_flight_max,
    const std::function<void(size_t part, std::stop_token unwanted,
                             std::function<void(std::optional<llm::Failure>)> done)>& begin,
    const std::stop_token& all_unwanted = {});

}  // namespace windrow::memory
