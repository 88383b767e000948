// Chooses the writer of an answer by its dialect, and writes whole answers in OpenAI's formats and
// TEI's. Pure.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "api/calls/call_reader.h"
#include "api/wire/answer_stream.h"
#include "api/wire/responses_reply.h"
#include "llm/answer.h"

namespace windrow::api {

// Names of fields as a header lists them: "tone, a%20b". Bytes that a header cannot have are
// escaped; a list that is too long ends with "...".
std::string header_list(std::span<const std::string> names);

// The body of the reply. For other dialects than the endpoint's own, to_canonical() must have been
// applied to the answer.
std::string reply_body(const ReplyFacts& facts, const llm::Answer& answer);

// The ids of the items of a response's output, as reply_body writes it.
std::vector<std::string> output_ids(const ReplyFacts& facts, const llm::Answer& answer);

// A stream in another dialect than the endpoint's own. `keep` is called with a complete response.
std::unique_ptr<AnswerStream> stream_in_dialect(const ReplyFacts& facts, KeepResponse keep = {});

}  // namespace windrow::api
