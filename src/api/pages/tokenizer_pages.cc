#include "api/pages/tokenizer_pages.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/calls/call_reader.h"
#include "api/wire/refusals.h"
#include "base/suggest.h"
#include "base/utf8.h"
#include "llm/field_values.h"
#include "llm/tokenizer.h"

namespace windrow::api {
namespace {

namespace json = boost::json;

using Answer = std::variant<http::ServerReply, llm::Failure>;
using llm::Problem;

constexpr std::string_view kTokenizePath = "/tokenize";
constexpr std::string_view kDetokenizePath = "/detokenize";
constexpr std::string_view kRenderPath = "/apply-template";

// Fields of a chat that its template may depend on; read as those of /v1/chat/completions.
constexpr auto kTemplateFields = std::to_array<std::string_view>(
    {"messages", "tools", "tool_choice", "chat_template_kwargs", "reasoning_effort"});

// The fields of one page's body. A field that the page does not read is refused.
class PageBody {
 public:
  PageBody(std::string_view path, json::object body) : path_(path), body_(std::move(body)) {}

  const json::object& body() const { return body_; }

  // Null if the field is absent or null.
  const json::value* read(std::string_view name) {
    known_.push_back(name);
    const json::value* value = body_.if_contains(name);
    return value == nullptr || value->is_null() ? nullptr : value;
  }

  Problem read_bool(std::string_view name, bool& target) {
    const json::value* value = read(name);
    return value == nullptr ? std::nullopt : llm::read_bool(*value, name, target);
  }

  // A field that another server has and that means something only if it has another value.
  Problem expect_absent(std::string_view name, std::string_view instead) {
    const json::value* value = read(name);
    if (value == nullptr || *value == json::value(false)) return std::nullopt;
    return llm::unsupported(name,
                            fmt::format("{} is not supported, so remove it: {}", name, instead));
  }

  llm::Failure missing(std::string_view name) const {
    return llm::missing_parameter(name,
                                  fmt::format("the body has no {}, which {} needs", name, path_));
  }

  // After all fields were read.
  Problem rest(llm::UnknownFields unknown_fields) const {
    if (unknown_fields == llm::UnknownFields::kIgnore) return std::nullopt;
    for (const auto& member : body_) {
      const std::string_view name = member.key();
      if (std::ranges::find(known_, name) != known_.end()) continue;
      return llm::unsupported(
          llm::shown(name),
          fmt::format("\"{}\" is not a field that {} supports{}", llm::shown(name), path_,
                      did_you_mean(name, known_, "; remove it")));
    }
    return std::nullopt;
  }

 private:
  const std::string_view path_;
  json::object body_;
  std::vector<std::string_view> known_;
};

// A model whose tokenizer is loaded.
struct LoadedModel {
  const ServedModel* model = nullptr;
  std::shared_ptr<const llm::Tokenizer> tokenizer;
};

// The model that the body names; without a name, that for texts, else the only one for others.
std::variant<const ServedModel*, llm::Failure> model_of(const ModelRegistry& models,
                                                        PageBody& body) {
  const json::value* name = body.read("model");
  if (name == nullptr && models.find("") == nullptr) {
    for (const llm::Endpoint endpoint : llm::endpoints()) {
      if (const ServedModel* only = models.only_one_for(endpoint)) return only;
    }
  }
  return find_model(llm::Endpoint::kCompletions, Dialect::kOwn, body.body(), models);
}

std::variant<LoadedModel, llm::Failure> load(const ModelRegistry& models, PageBody& body) {
  auto found = model_of(models, body);
  if (auto* failure = std::get_if<llm::Failure>(&found)) return std::move(*failure);
  const auto* model = std::get<const ServedModel*>(found);
  if (!model->tokenizer) {
    return llm::Failure{
        .code = "unsupported_by_model",
        .message = fmt::format("the model {0} has no tokenizer here, because another server has "
                               "the model; the operator can name its file with --tokenizer "
                               "{0}=model.gguf",
                               model->name),
        .param = "model"};
  }
  Result<std::shared_ptr<const llm::Tokenizer>> tokenizer = model->tokenizer->get();
  if (!tokenizer) {
    if (std::optional<std::string> refusal = model->tokenizer->refusal()) {
      return llm::Failure{
          .code = "unsupported_by_model", .message = *std::move(refusal), .param = "model"};
    }
    // Clients do not learn where a file is.
    return load_failed(model->name, "its tokenizer cannot be read from its file; ask the operator");
  }
  return LoadedModel{.model = model, .tokenizer = *std::move(tokenizer)};
}

// "continue_final_message" and the like, which the template would have to know.
Problem read_refused(PageBody& body) {
  if (Problem problem =
          body.expect_absent("continue_final_message",
                             "an answer cannot be continued; add_generation_prompt: false "
                             "renders the messages alone"))
    return problem;
  return body.expect_absent("chat_template",
                            "one template is for all requests, and --chat-template sets it");
}

std::variant<llm::Chat, llm::Failure> read_chat(PageBody& body) {
  json::object fields;
  for (const std::string_view name : kTemplateFields) {
    if (const json::value* value = body.read(name)) fields[name] = *value;
  }
  auto parsed = llm::parse_request(llm::Endpoint::kChatCompletions, fields, 0);
  if (auto* failure = std::get_if<llm::Failure>(&parsed)) return std::move(*failure);
  return std::move(std::get<llm::Request>(parsed).chat);
}

// Ids between brackets. A long text has millions, so they do not become JSON values.
std::string list_of(const std::vector<int32_t>& tokens) {
  std::string list = "[";
  for (const int32_t token : tokens)
    fmt::format_to(std::back_inserter(list), "{}{}", list.size() == 1 ? "" : ",", token);
  return list + "]";
}

std::string piece_of(const llm::Tokenizer& tokenizer, int32_t token) {
  std::string piece;
  tokenizer.append_piece(token, piece);
  return piece;
}

// A text, or bytes where it is only a part of a character.
std::string json_of_piece(const std::string& piece) {
  if (code_points(piece)) return json::serialize(json::string(piece));
  json::array bytes;
  for (const char byte : piece)
    bytes.emplace_back(static_cast<unsigned char>(byte));
  return json::serialize(bytes);
}

// --- /tokenize ---

// As the model's own tokenizer does, so an encoder's text ends with its SEP.
llm::SpecialTokens added(bool special) {
  return special ? llm::SpecialTokens::kAll : llm::SpecialTokens::kNone;
}

Answer tokens_of_content(PageBody& body, const LoadedModel& loaded, const json::value& content,
                         llm::UnknownFields unknown_fields) {
  bool special = false;
  bool control = true;
  bool pieces = false;
  std::string text;
  if (Problem problem = body.read_bool("add_special", special)) return *std::move(problem);
  if (Problem problem = body.read_bool("parse_special", control)) return *std::move(problem);
  if (Problem problem = body.read_bool("with_pieces", pieces)) return *std::move(problem);
  if (Problem problem = llm::read_string(content, "content", text)) return *std::move(problem);
  if (Problem problem = body.rest(unknown_fields)) return *std::move(problem);
  const std::vector<int32_t> tokens = loaded.tokenizer->encode(text, control, added(special));
  if (!pieces) return http::ServerReply{.body = fmt::format(R"({{"tokens":{}}})", list_of(tokens))};
  std::string list;
  for (const int32_t token : tokens) {
    fmt::format_to(std::back_inserter(list), R"({}{{"id":{},"piece":{}}})", list.empty() ? "" : ",",
                   token, json_of_piece(piece_of(*loaded.tokenizer, token)));
  }
  return http::ServerReply{.body = fmt::format(R"({{"tokens":[{}]}})", list)};
}

http::ServerReply counted_reply(const LoadedModel& loaded, const std::vector<int32_t>& tokens,
                                bool pieces) {
  std::string strings = "null";
  if (pieces) {
    strings = "[";
    for (const int32_t token : tokens) {
      strings += strings.size() == 1 ? "" : ",";
      strings += json::serialize(json::string(utf8_repair(piece_of(*loaded.tokenizer, token))));
    }
    strings += "]";
  }
  const int32_t context = loaded.model->context_tokens > 0 ? loaded.model->context_tokens
                                                           : loaded.tokenizer->context_tokens_max();
  return {.body = fmt::format(R"({{"count":{},"max_model_len":{},"tokens":{},"token_strs":{}}})",
                              tokens.size(), context, list_of(tokens), strings)};
}

Answer tokens_of_prompt(PageBody& body, const LoadedModel& loaded, const json::value& prompt,
                        llm::UnknownFields unknown_fields) {
  bool special = true;
  bool pieces = false;
  std::string text;
  if (Problem problem = body.read_bool("add_special_tokens", special)) return *std::move(problem);
  if (Problem problem = body.read_bool("return_token_strs", pieces)) return *std::move(problem);
  if (Problem problem = llm::read_string(prompt, "prompt", text)) return *std::move(problem);
  if (Problem problem = body.rest(unknown_fields)) return *std::move(problem);
  return counted_reply(loaded, loaded.tokenizer->encode(text, /*control=*/true, added(special)),
                       pieces);
}

// The tokens that a chat of these messages would send to the model, whatever add_special_tokens
// says: the beginning of a context is part of that.
Answer tokens_of_messages(PageBody& body, const LoadedModel& loaded,
                          llm::UnknownFields unknown_fields) {
  bool special = false;
  bool pieces = false;
  bool asks_for_answer = true;
  if (Problem problem = body.read_bool("add_special_tokens", special)) return *std::move(problem);
  if (Problem problem = body.read_bool("return_token_strs", pieces)) return *std::move(problem);
  if (Problem problem = body.read_bool("add_generation_prompt", asks_for_answer))
    return *std::move(problem);
  if (Problem problem = read_refused(body)) return *std::move(problem);
  auto chat = read_chat(body);
  if (auto* failure = std::get_if<llm::Failure>(&chat)) return std::move(*failure);
  if (Problem problem = body.rest(unknown_fields)) return *std::move(problem);
  auto rendered = loaded.tokenizer->render(std::get<llm::Chat>(chat), asks_for_answer);
  if (auto* failure = std::get_if<llm::Failure>(&rendered)) return std::move(*failure);
  return counted_reply(loaded, std::get<llm::RenderedChat>(rendered).tokens, pieces);
}

// --- /detokenize ---

std::variant<std::vector<int32_t>, llm::Failure> read_ids(const json::value& value,
                                                          const LoadedModel& loaded) {
  const json::array* ids = value.if_array();
  if (ids == nullptr) return llm::wrong_kind("tokens", "an array of token ids", value);
  const int32_t size = loaded.tokenizer->vocabulary_size();
  std::vector<int32_t> tokens;
  tokens.reserve(ids->size());
  for (const json::value& id : *ids) {
    const int64_t* number = id.if_int64();
    if (number != nullptr && *number >= 0 && *number < size) {
      tokens.push_back(static_cast<int32_t>(*number));
      continue;
    }
    const std::string place = fmt::format("tokens[{}]", tokens.size());
    if (!id.is_number()) return llm::wrong_kind(place, "a token id", id);
    if (id.is_double()) {
      return llm::bad_value(place,
                            fmt::format("{} must be a token id, which is a whole number", place));
    }
    return llm::bad_value(
        place, fmt::format("{} is {}, which is outside the vocabulary of {}: its ids are 0 to {}",
                           place, json::serialize(id), loaded.model->name, size - 1));
  }
  return tokens;
}

// A body, and the model it is for.
struct OpenedPage {
  PageBody body;
  LoadedModel loaded;
};

std::variant<OpenedPage, llm::Failure> open_page(std::string_view path, const ModelRegistry& models,
                                                 std::string_view body) {
  auto parsed = parse_body(body);
  if (auto* failure = std::get_if<llm::Failure>(&parsed)) return std::move(*failure);
  PageBody page(path, std::move(std::get<json::object>(parsed)));
  auto loaded = load(models, page);
  if (auto* failure = std::get_if<llm::Failure>(&loaded)) return std::move(*failure);
  return OpenedPage{.body = std::move(page), .loaded = std::move(std::get<LoadedModel>(loaded))};
}

constexpr auto kTokenizerPages =
    std::to_array<std::pair<std::string_view, TokenizerPage>>({{kTokenizePath, &show_tokenized},
                                                               {kDetokenizePath, &show_detokenized},
                                                               {kRenderPath, &show_rendered}});

}  // namespace

std::span<const std::pair<std::string_view, TokenizerPage>> tokenizer_pages() {
  return kTokenizerPages;
}

Answer show_tokenized(const ModelRegistry& models, llm::UnknownFields unknown_fields,
                      std::string_view body) {
  auto opened = open_page(kTokenizePath, models, body);
  if (auto* failure = std::get_if<llm::Failure>(&opened)) return std::move(*failure);
  auto& [page, loaded] = std::get<OpenedPage>(opened);
  std::string_view given;
  for (const std::string_view name : {"content", "prompt", "messages"}) {
    if (page.read(name) == nullptr) continue;
    if (!given.empty()) {
      return llm::bad_value(name,
                            fmt::format("{} and {} are both there; send one of them", given, name));
    }
    given = name;
  }
  if (given == "content") return tokens_of_content(page, loaded, *page.read(given), unknown_fields);
  if (given == "prompt") return tokens_of_prompt(page, loaded, *page.read(given), unknown_fields);
  if (given == "messages") return tokens_of_messages(page, loaded, unknown_fields);
  return llm::missing_parameter(
      "content", "the body has neither content, prompt nor messages; /tokenize needs one of them");
}

Answer show_detokenized(const ModelRegistry& models, llm::UnknownFields unknown_fields,
                        std::string_view body) {
  auto opened = open_page(kDetokenizePath, models, body);
  if (auto* failure = std::get_if<llm::Failure>(&opened)) return std::move(*failure);
  auto& [page, loaded] = std::get<OpenedPage>(opened);
  const json::value* value = page.read("tokens");
  if (value == nullptr) return page.missing("tokens");
  if (Problem problem = page.rest(unknown_fields)) return *std::move(problem);
  auto tokens = read_ids(*value, loaded);
  if (auto* failure = std::get_if<llm::Failure>(&tokens)) return std::move(*failure);
  const std::string text = json::serialize(
      json::string(text_of(*loaded.tokenizer, std::get<std::vector<int32_t>>(tokens))));
  return http::ServerReply{.body = fmt::format(R"({{"content":{0},"prompt":{0}}})", text)};
}

Answer show_rendered(const ModelRegistry& models, llm::UnknownFields unknown_fields,
                     std::string_view body) {
  auto opened = open_page(kRenderPath, models, body);
  if (auto* failure = std::get_if<llm::Failure>(&opened)) return std::move(*failure);
  auto& [page, loaded] = std::get<OpenedPage>(opened);
  bool asks_for_answer = true;
  if (Problem problem = page.read_bool("add_generation_prompt", asks_for_answer))
    return *std::move(problem);
  if (Problem problem = read_refused(page)) return *std::move(problem);
  if (page.read("messages") == nullptr) return page.missing("messages");
  auto chat = read_chat(page);
  if (auto* failure = std::get_if<llm::Failure>(&chat)) return std::move(*failure);
  if (Problem problem = page.rest(unknown_fields)) return *std::move(problem);
  auto rendered = loaded.tokenizer->render(std::get<llm::Chat>(chat), asks_for_answer);
  if (auto* failure = std::get_if<llm::Failure>(&rendered)) return std::move(*failure);
  return http::ServerReply{.body = json::serialize(json::object{
                               {"prompt", std::get<llm::RenderedChat>(rendered).text}})};
}

}  // namespace windrow::api
