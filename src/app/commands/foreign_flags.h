// Flags of other programs, and what to write here instead: for error messages.
#pragma once

#include <array>
#include <string_view>

namespace windrow::app {

// What people write who know llama-server, Ollama or vLLM, and the flag that does it here.
struct ForeignFlag {
  std::string_view word;
  std::string_view flag;  // of ours; empty: the first word without a flag
  std::string_view text;
};

inline constexpr auto kForeignFlags = std::to_array<ForeignFlag>({
    {"--port", "--listen", "--listen HOST:PORT, as in --listen 127.0.0.1:8080"},
    {"--host", "--listen", "--listen HOST:PORT, as in --listen 0.0.0.0:8080"},
    {"-m", "--model", "--model FILE"},
    {"-c", "--ctx", "--ctx TOKENS"},
    {"--ctx-size", "--ctx", "--ctx TOKENS"},
    {"--max-model-len", "--ctx", "--ctx TOKENS"},
    {"-ngl", "--gpu-layers", "--gpu-layers N"},
    {"--n-gpu-layers", "--gpu-layers", "--gpu-layers N"},
    {"-t", "--threads", "--threads N"},
    {"-np", "--rows-max", "--rows-max N"},
    {"--parallel", "--rows-max", "--rows-max N"},
    {"--max-num-seqs", "--rows-max", "--rows-max N"},
    {"-b", "--batch-tokens", "--batch-tokens TOKENS"},
    {"--max-num-batched-tokens", "--batch-tokens", "--batch-tokens TOKENS"},
    {"-fa", "--flash-attn", "--flash-attn WHEN"},
    {"--api-key", "--api-keys", "--api-keys FILE (windrow keys add makes it)"},
    {"--served-model-name", "--model", "--model NAME=FILE"},
    {"-i", "", "the input file as the first word"},
    {"--input-file", "", "the input file as the first word"},
    {"--output-file", "--output", "-o FILE"},
});

}  // namespace windrow::app
