// The bodies a simulated upstream answers with, in the forms of OpenAI's and Ollama's APIs. Pure.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim_upstream/model_call.h"

namespace windrow::sim_upstream {

struct Usage {
  int64_t prompt_tokens = 0;
  int64_t cached_tokens = 0;  // of those
  int64_t answer_tokens = 0;
};

struct Choice {
  std::string text;
  bool cut = false;  // by the limit of tokens
};

struct ReplyFacts {
  uint64_t number = 0;  // makes the id
  int64_t created_s = 0;
  std::string_view model;
  Usage usage;
};

// As the member "usage" has it.
boost::json::object usage_json(const Usage& usage);

std::string chat_body(const ReplyFacts& facts, std::span<const Choice> choices);
std::string completion_body(const ReplyFacts& facts, std::span<const Choice> choices);
std::string embedding_body(const ReplyFacts& facts, std::span<const std::vector<float>> vectors,
                           bool base64);

// {"error": {"message", "type", "param", "code"}}; empty code: null.
std::string error_body(std::string_view message, std::string_view type, std::string_view code);

std::string models_body(std::span<const std::string> models, int64_t created_s,
                        int64_t context_tokens);

// Ollama: what it has, what it has loaded, and one of them.
std::string ollama_tags_body(std::span<const std::string> models);
std::string ollama_ps_body(std::span<const std::string> models, int64_t context_tokens);
std::string ollama_show_body(int64_t context_tokens);

}  // namespace windrow::sim_upstream
