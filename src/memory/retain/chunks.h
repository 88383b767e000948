// Chunks: a long text in pieces that a model can take, and what has changed in a document that
// comes again. Pure; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "memory/bank/bank_store.h"

namespace windrow::memory {

// Text in pieces of at most `characters_max` characters (at least 1), cut at the ends of
// paragraphs, sentences or words where there are some. White space around pieces is left out. What
// is added to the end of a text changes no piece but the last.
std::vector<std::string> chunks_of(std::string_view text, int32_t characters_max);

// A new chunk of a document, and which of the texts it is.
struct AddedChunk {
  Chunk chunk;
  size_t text = 0;
};

struct DocumentDelta {
  std::vector<AddedChunk> added;
  std::vector<std::string> gone;  // ids
};

// From the chunks that a document has to those of `texts`: equal texts keep their chunk. A new
// chunk has the place of its text as index, if no chunk that stays has it. Ids are
// "BANK_DOCUMENT_INDEX".
DocumentDelta replaced(std::string_view bank, std::string_view document,
                       std::span<const Chunk> before, std::span<const std::string> texts);

// The same where `texts` are added at the end: all chunks stay.
DocumentDelta appended(std::string_view bank, std::string_view document,
                       std::span<const Chunk> before, std::span<const std::string> texts);

}  // namespace windrow::memory
