#include "sim_upstream/model_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <cstring>
#include <numeric>
#include <utility>

#include "json/limits.h"
#include "sim_upstream/answer_text.h"
#include "sim_upstream/prefix_cache.h"
#include "sim_upstream/request_members.h"

namespace windrow::sim_upstream {

namespace json = boost::json;

namespace {

constexpr int64_t kChoicesMax = 128;
constexpr size_t kInputsMax = 4096;

std::string_view view(const json::string& text) {
  return {text.data(), text.size()};
}

// A message's content: a text, or parts, of which some are texts.
std::string content_text(const json::value& content) {
  if (const json::string* text = content.if_string()) return std::string(view(*text));
  const json::array* parts = content.if_array();
  if (parts == nullptr) return content.is_null() ? "" : json::serialize(content);
  std::string all;
  for (const json::value& part : *parts) {
    const json::object* object = part.if_object();
    const json::value* text = object == nullptr ? nullptr : object->if_contains("text");
    all += text != nullptr && text->is_string() ? std::string(view(text->get_string()))
                                                : json::serialize(part);
  }
  return all;
}

Result<void> read_messages(const json::object& body, ModelCall& call) {
  if (const json::value* ids = member(body, "input_ids")) {
    Result<std::vector<int32_t>> read = token_ids(*ids, "input_ids");
    if (!read) return read.error();
    call.prompts.push_back(id_prompt(*std::move(read)));
  }
  const json::value* messages = member(body, "messages");
  if (messages == nullptr || !messages->is_array() || messages->get_array().empty())
    return refusal("messages must be a list of at least one message");
  std::string text;
  if (const json::value* tools = member(body, "tools")) text += json::serialize(*tools) + "\n";
  for (const json::value& message : messages->get_array()) {
    const json::object* object = message.if_object();
    const json::value* role = object == nullptr ? nullptr : object->if_contains("role");
    if (role == nullptr || !role->is_string()) return refusal("every message must have a role");
    const json::value* content = object->if_contains("content");
    call.question = content == nullptr ? "" : content_text(*content);
    text += fmt::format("{}\n{}\n", view(role->get_string()), call.question);
  }
  // SGLang's: ids stand for what the template would make of the messages.
  if (call.prompts.empty()) call.prompts.push_back(text_prompt(std::move(text)));
  return {};
}

// What an echo says of it.
std::string question_of(const Prompt& prompt) {
  return prompt.ids.empty() ? prompt.text : last_ids(prompt.ids);
}

bool is_numbers(const json::value& value) {
  return value.is_array() && !value.get_array().empty() && value.get_array().front().is_number();
}

Result<Prompt> one_input(const json::value& value, std::string_view name) {
  if (const json::string* text = value.if_string()) return text_prompt(std::string(view(*text)));
  if (is_numbers(value)) {
    Result<std::vector<int32_t>> ids = token_ids(value, name);
    if (!ids) return ids.error();
    return id_prompt(*std::move(ids));
  }
  return refusal(fmt::format("{} must be a text, token ids, or a list of either", name));
}

Result<void> read_inputs(const json::object& body, std::string_view name, ModelCall& call) {
  const json::value* value = member(body, name);
  if (value == nullptr) return refusal(fmt::format("{} is missing", name));
  const json::array single = {*value};
  const bool is_list = value->is_array() && !is_numbers(*value);
  const json::array& inputs = is_list ? value->get_array() : single;
  if (inputs.empty() || inputs.size() > kInputsMax)
    return refusal(fmt::format("{} must have from 1 to {} texts", name, kInputsMax));
  for (const json::value& input : inputs) {
    Result<Prompt> prompt = one_input(input, name);
    if (!prompt) return prompt.error();
    call.prompts.push_back(*std::move(prompt));
  }
  call.question = question_of(call.prompts.back());
  return {};
}

// vLLM's fields, older and newer; there a schema may also be a text.
void read_guidance(const json::object& body, ModelCall& call) {
  const json::value* schema = member(body, "guided_json");
  const json::value* newer = member(body, "structured_outputs");
  if (schema == nullptr && newer != nullptr && newer->is_object())
    schema = member(newer->get_object(), "json");
  if (schema == nullptr) return;
  call.wants_json = true;
  boost::system::error_code error;
  call.schema = schema->is_string() ? json::parse(view(schema->get_string()), error, {},
                                                  {.max_depth = kJsonDepthMax})
                                    : *schema;
}

void read_format(const json::object& body, ModelCall& call) {
  read_guidance(body, call);
  const json::value* format = member(body, "response_format");
  if (format == nullptr || !format->is_object()) return;
  const json::value* type = format->get_object().if_contains("type");
  if (type == nullptr || (*type != "json_object" && *type != "json_schema")) return;
  call.wants_json = true;
  boost::system::error_code missing;
  if (const json::value* schema = format->find_pointer("/json_schema/schema", missing))
    call.schema = *schema;
}

Result<void> read_stream(const json::object& body, ModelCall& call) {
  const json::value* stream = member(body, "stream");
  if (stream != nullptr && !stream->is_bool()) return refusal("stream must be true or false");
  call.stream = stream != nullptr && stream->get_bool();
  const json::value* options = member(body, "stream_options");
  if (options == nullptr) return {};
  if (!options->is_object()) return refusal("stream_options must be an object");
  if (!call.stream) return refusal("stream_options goes with stream: true");
  const json::value* usage = member(options->get_object(), "include_usage");
  call.stream_usage = usage != nullptr && *usage == true;
  return {};
}

Result<void> read_generation(const json::object& body, ModelCall& call) {
  constexpr int64_t kTokensMax = int64_t{1} << 40;
  for (const std::string_view name : {"max_tokens", "max_completion_tokens"}) {
    const Result<std::optional<int64_t>> tokens = whole_number(body, name, 0, kTokensMax);
    if (!tokens) return tokens.error();
    if (*tokens) call.answer_tokens_max = *tokens;
  }
  const Result<std::optional<int64_t>> choices = whole_number(body, "n", 1, kChoicesMax);
  if (!choices) return choices.error();
  call.choices = static_cast<int32_t>(choices->value_or(1));
  read_format(body, call);
  if (const Result<void> stream = read_stream(body, call); !stream) return stream.error();
  return read_token_wishes(body, call);
}

Result<void> read_embedding(const json::object& body, ModelCall& call) {
  constexpr int64_t kDimensionsMax = 16384;
  const json::value* format = member(body, "encoding_format");
  call.base64 = format != nullptr && *format == "base64";
  const Result<std::optional<int64_t>> dimensions =
      whole_number(body, "dimensions", 1, kDimensionsMax);
  if (!dimensions) return dimensions.error();
  call.dimensions = *dimensions;
  return {};
}

// Tokens that Ollama reads of a prompt. Of a prompt that is too long it takes the first few tokens
// and the end, so that half of the context stays free; of a text to embed as much as there is room
// for.
int64_t ollama_tokens(int64_t context, int64_t tokens, Endpoint endpoint) {
  constexpr int64_t kKeep = 4;
  if (endpoint == Endpoint::kEmbeddings) return std::min(tokens, context);
  if (tokens < context) return tokens;
  return context - std::max<int64_t>((context - std::min(kKeep, context - 1)) / 2, 1);
}

int64_t tokens_read(const SimOptions& options, const Prompt& prompt, Endpoint endpoint) {
  if (!options.ollama) return prompt.tokens;
  return ollama_tokens(options.context_tokens, prompt.tokens, endpoint);
}

std::vector<Choice> choices_of(const SimOptions& options, const ActiveCall& call) {
  std::vector<Choice> choices;
  const auto per_prompt = static_cast<size_t>(call.request.choices);
  for (size_t i = 0; i < call.answer_tokens.size(); ++i) {
    std::string text = answer_text(options, call.request, i / per_prompt,
                                   static_cast<int32_t>(i % per_prompt), call.answer_tokens[i]);
    if (call.breaks_schema()) text = in_another_shape(text);
    choices.push_back({.text = std::move(text), .cut = call.cut[i]});
  }
  return choices;
}

}  // namespace

Prompt text_prompt(std::string text) {
  const auto tokens = (static_cast<int64_t>(text.size()) + kTokenBytes - 1) / kTokenBytes;
  return {std::move(text), tokens, {}};
}

Prompt id_prompt(std::vector<int32_t> ids) {
  static_assert(kTokenBytes == sizeof(int32_t));
  std::string bytes(ids.size() * sizeof(int32_t), '\0');
  std::memcpy(bytes.data(), ids.data(), bytes.size());
  const auto tokens = static_cast<int64_t>(ids.size());
  return {std::move(bytes), tokens, std::move(ids)};
}

ReplyFacts with_usage(ReplyFacts facts, const ActiveCall& call) {
  facts.model = call.request.model;
  facts.usage = {.prompt_tokens = call.prompt_tokens,
                 .cached_tokens = call.cached_tokens,
                 .answer_tokens = std::accumulate(call.answer_tokens.begin(),
                                                  call.answer_tokens.end(), int64_t{0})};
  return facts;
}

int64_t ModelCall::prompt_tokens() const {
  int64_t tokens = 0;
  for (const Prompt& prompt : prompts)
    tokens += prompt.tokens;
  return tokens;
}

Result<ModelCall> read_call(Endpoint endpoint, std::string_view body) {
  boost::system::error_code error;
  const json::value parsed = json::parse(body, error, {}, {.max_depth = kJsonDepthMax});
  if (error) return refusal(fmt::format("the body is no JSON: {}", error.message()));
  const json::object* object = parsed.if_object();
  if (object == nullptr) return refusal("the body must be a JSON object");
  ModelCall call;
  call.endpoint = endpoint;
  const json::value* model = member(*object, "model");
  if (model != nullptr && model->is_string()) call.model = view(model->get_string());
  if (endpoint == Endpoint::kGenerate) {
    if (const Result<void> read = read_generate(*object, call); !read) return read.error();
    call.question = question_of(call.prompts.back());
    return call;
  }
  if (model == nullptr || !model->is_string()) return refusal("model must be a text");
  const Result<void> prompts = endpoint == Endpoint::kChat ? read_messages(*object, call)
                               : endpoint == Endpoint::kCompletions
                                   ? read_inputs(*object, "prompt", call)
                                   : read_inputs(*object, "input", call);
  if (!prompts) return prompts.error();
  const Result<void> rest = endpoint == Endpoint::kEmbeddings ? read_embedding(*object, call)
                                                              : read_generation(*object, call);
  if (!rest) return rest.error();
  return call;
}

int64_t ActiveCall::tokens() const {
  return std::accumulate(answer_tokens.begin(), answer_tokens.end(), prompt_tokens);
}

int64_t ActiveCall::longest_answer() const {
  return answer_tokens.empty() ? 0 : *std::ranges::max_element(answer_tokens);
}

Duration ActiveCall::next_step(const SimOptions& options) const {
  return std::min(longest_answer() - (stream ? stream->made() : 0), options.event_tokens) *
         options.token_time;
}

bool ActiveCall::breaks_schema() const {
  return is_struck_by(FaultKind::kSchema) && request.wants_json;
}

Result<ActiveCall> begin_call(const SimOptions& options, ModelCall request) {
  ActiveCall call;
  int64_t longest = 0;
  for (const Prompt& prompt : request.prompts) {
    const int64_t tokens = tokens_read(options, prompt, request.endpoint);
    call.prompt_tokens += tokens;
    longest = std::max(longest, tokens);
  }
  const bool generates = request.endpoint != Endpoint::kEmbeddings;
  const int64_t asked = generates ? request.answer_tokens_max.value_or(1) : 0;
  if (!options.ollama && longest + asked > options.context_tokens) {
    return Error{ErrorKind::kInvalid,
                 fmt::format("This model's maximum context length is {} tokens. However, you asked "
                             "for {} tokens ({} in the messages, {} in the answer)",
                             options.context_tokens, longest + asked, longest, asked)};
  }
  if (generates) {
    for (const Prompt& prompt : request.prompts) {
      const int64_t read = tokens_read(options, prompt, request.endpoint);
      const int64_t room = std::max<int64_t>(1, options.context_tokens - read);
      const int64_t limit = std::min(room, request.answer_tokens_max.value_or(room));
      for (int32_t choice = 0; choice < request.choices; ++choice) {
        const int64_t wanted = draw_answer_tokens(options, prompt.text, choice);
        call.answer_tokens.push_back(std::min(wanted, limit));
        call.cut.push_back(wanted > limit);
      }
    }
  }
  call.request = std::move(request);
  return call;
}

std::string reply_body(const SimOptions& options, const ActiveCall& call, ReplyFacts facts) {
  facts = with_usage(facts, call);
  if (call.request.endpoint == Endpoint::kEmbeddings) {
    std::vector<std::vector<float>> vectors;
    vectors.reserve(call.request.prompts.size());
    for (const Prompt& prompt : call.request.prompts) {
      vectors.push_back(
          embedding_of(prompt.text, call.request.dimensions.value_or(options.embedding_size)));
    }
    return embedding_body(facts, vectors, call.request.base64);
  }
  const std::vector<Choice> choices = choices_of(options, call);
  return call.request.endpoint == Endpoint::kChat ? chat_body(facts, choices)
                                                  : completion_body(facts, choices);
}

std::unique_ptr<EventSource> stream_body(const SimOptions& options, const ActiveCall& call,
                                         ReplyFacts facts) {
  return std::make_unique<StreamBody>(call.request.endpoint, with_usage(facts, call),
                                      choices_of(options, call), call.answer_tokens,
                                      call.request.stream_usage);
}

}  // namespace windrow::sim_upstream
