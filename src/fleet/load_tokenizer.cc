#include "fleet/load_tokenizer.h"

#include <utility>

#include "base/ensure.h"
#include "engine/generate/model_tokenizer.h"
#include "engine/llama/llama_model.h"
#include "engine/sim/sim_options.h"
#include "engine/sim/sim_vocabulary.h"
#include "fleet/chat_template_choice.h"

namespace windrow::fleet {
namespace {

Result<std::shared_ptr<const llm::Tokenizer>> simulated_tokenizer(const ModelChoice& choice,
                                                                  int64_t date_unix_s) {
  const Result<engine::sim::SimOptions> model = engine::sim::parse_sim(choice.path);
  if (!model) return model.error();
  Result<chat::ChatTemplate> chat_template = simulated_chat_template(choice);
  if (!chat_template) return chat_template.error();
  return std::make_shared<engine::ModelTokenizer>(
      std::make_shared<engine::sim::SimVocabulary>(model->vocabulary), std::move(chat_template),
      date_unix_s, model->context);
}

}  // namespace

Result<std::shared_ptr<const llm::Tokenizer>> load_tokenizer(engine::LlamaLibrary* library,
                                                             const ModelChoice& choice,
                                                             int64_t date_unix_s) {
  if (is_simulated(choice)) return simulated_tokenizer(choice, date_unix_s);
  ENSURE(library != nullptr, "{} needs libllama", choice.path);
  Result<engine::LoadedVocabulary> loaded =
      engine::LlamaModel::load_vocabulary(*library, choice.path);
  if (!loaded) return loaded.error();
  Result<chat::ChatTemplate> chat_template = chosen_chat_template(*loaded, choice);
  if (!chat_template && !choice.chat_template.empty()) return chat_template.error();
  return std::make_shared<engine::ModelTokenizer>(std::move(loaded->vocabulary),
                                                  std::move(chat_template), date_unix_s,
                                                  loaded->facts.context_trained);
}

Result<std::shared_ptr<const llm::Tokenizer>> loaded_tokenizer(const LocalModel& model,
                                                               const ModelChoice& choice,
                                                               int64_t date_unix_s) {
  if (model.weights == nullptr) return simulated_tokenizer(choice, date_unix_s);
  Result<chat::ChatTemplate> chat_template = chosen_chat_template(*model.weights, choice);
  if (!chat_template && !choice.chat_template.empty()) return chat_template.error();
  return std::make_shared<engine::ModelTokenizer>(model.weights->vocabulary(),
                                                  std::move(chat_template), date_unix_s,
                                                  model.weights->facts().context_trained);
}

std::shared_ptr<llm::LazyTokenizer> lazy_tokenizer(engine::LlamaLibrary* library,
                                                   const ModelChoice& choice, const Clock& clock) {
  return std::make_shared<llm::LazyTokenizer>(
      [library, &choice, &clock] { return load_tokenizer(library, choice, clock.unix_seconds()); });
}

}  // namespace windrow::fleet
