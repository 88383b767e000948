// ScriptedModels: a chat model and an embedding model that are functions, for tests. Thread-safe as
// MemoryModels says; the functions are called by one thread at a time.
#pragma once

#include <cmath>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "memory/models/memory_models.h"

namespace windrow::memory::testing {

inline llm::Failure no_model(std::string_view what) {
  return {.status = 400,
          .code = "no_memory_model",
          .message = "there is no " + std::string(what) + "; name one with --memory-model"};
}

class ScriptedModels final : public MemoryModels {
 public:
  // Absent: there is no such model.
  std::function<ChatOutcome(const ChatCall&)> on_chat;
  std::function<EmbedOutcome(const std::vector<std::string>&)> on_embed;
  std::string embed_name = "scripted-embed";

  void chat(ChatCall call, std::stop_token /*unwanted*/,
            std::function<void(ChatOutcome)> done) override {
    ChatOutcome outcome = no_model("chat model");
    {
      const std::scoped_lock lock(mutex_);
      chats_.push_back(call);
      if (on_chat) outcome = on_chat(call);
    }
    done(std::move(outcome));
  }

  void embed(std::string_view /*model*/, std::vector<std::string> texts,
             const ModelCaller& /*caller*/, std::stop_token /*unwanted*/,
             std::function<void(EmbedOutcome)> done) override {
    EmbedOutcome outcome = no_model("embedding model");
    {
      const std::scoped_lock lock(mutex_);
      embeds_.push_back(texts);
      if (on_embed) outcome = on_embed(texts);
    }
    done(std::move(outcome));
  }

  std::optional<llm::Failure> chat_fault(std::string_view /*model*/) override {
    if (on_chat) return std::nullopt;
    return no_model("chat model");
  }

  std::optional<llm::Failure> embed_fault(std::string_view /*model*/) override {
    if (on_embed) return std::nullopt;
    return no_model("embedding model");
  }

  std::string embed_model_name(std::string_view model) override {
    return model.empty() ? embed_name : std::string(model);
  }

  int64_t count_tokens(std::string_view text) override {
    return static_cast<int64_t>((text.size() + 3) / 4);
  }

  // What was asked so far.
  std::vector<ChatCall> chats() const {
    const std::scoped_lock lock(mutex_);
    return chats_;
  }
  std::vector<std::vector<std::string>> embeds() const {
    const std::scoped_lock lock(mutex_);
    return embeds_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<ChatCall> chats_;
  std::vector<std::vector<std::string>> embeds_;
};

// Vectors of length 1 by how often the texts have these words: one number for each, and one for
// texts that have none.
inline std::function<EmbedOutcome(const std::vector<std::string>&)> embed_by_words(
    std::vector<std::string> words) {
  return [words = std::move(words)](const std::vector<std::string>& texts) -> EmbedOutcome {
    std::vector<std::vector<float>> vectors;
    for (const std::string& text : texts) {
      std::vector<float> vector(words.size() + 1);
      float squares = 0;
      for (size_t i = 0; i < words.size(); ++i) {
        for (size_t at = text.find(words[i]); at != std::string::npos;
             at = text.find(words[i], at + 1))
          vector[i] += 1;
        squares += vector[i] * vector[i];
      }
      if (squares == 0) vector.back() = squares = 1;
      for (float& number : vector)
        number /= std::sqrt(squares);
      vectors.push_back(std::move(vector));
    }
    return vectors;
  };
}

}  // namespace windrow::memory::testing
