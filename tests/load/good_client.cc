#include "load/good_client.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <future>
#include <memory>
#include <variant>

namespace windrow::load {

namespace json = boost::json;

namespace {

constexpr size_t kWrongMax = 20;

std::optional<json::object> object_of(std::string_view text) {
  boost::system::error_code error;
  json::value value = json::parse(json::string_view(text.data(), text.size()), error);
  if (error || !value.is_object()) return std::nullopt;
  return value.as_object();
}

const json::object* first_choice(const json::object& reply) {
  const json::value* choices = reply.if_contains("choices");
  if (choices == nullptr || !choices->is_array() || choices->get_array().empty()) return nullptr;
  return choices->get_array().front().if_object();
}

std::string text_at(const json::object& object, std::string_view outer, std::string_view inner) {
  const json::value* value = object.if_contains(outer);
  if (value == nullptr || !value->is_object()) return "";
  const json::value* text = value->get_object().if_contains(inner);
  return text == nullptr || !text->is_string() ? "" : std::string(text->get_string());
}

}  // namespace

Reply ask(http::Client& client, const std::string& url, const std::string& body) {
  http::ClientRequest request;
  request.method = body.empty() ? http::Method::kGet : http::Method::kPost;
  request.url = http::parse_url(url).value();
  request.headers.add("Content-Type", "application/json");
  if (!body.empty()) request.body = std::make_shared<const std::string>(body);
  request.limits.total = std::chrono::minutes(2);
  auto promise = std::make_shared<std::promise<http::ClientResult>>();
  std::future<http::ClientResult> future = promise->get_future();
  client.send(std::move(request),
              [promise](http::ClientResult result) { promise->set_value(std::move(result)); });
  http::ClientResult result = future.get();
  if (auto* reply = std::get_if<http::ClientReply>(&result))
    return {.status = reply->head.status, .body = std::move(reply->body), .why = ""};
  return {.status = 0, .body = "", .why = std::get<http::ClientFailure>(result).message};
}

std::string gist(const Question& question, const std::string& body) {
  const std::optional<json::object> reply = object_of(body);
  if (!reply) return "no JSON object: " + body.substr(0, 200);
  if (const json::value* error = reply->if_contains("error")) return json::serialize(*error);
  if (question.path == "/v1/embeddings") {
    const json::value* data = reply->if_contains("data");
    return data == nullptr ? "no data" : json::serialize(*data);
  }
  const json::object* choice = first_choice(*reply);
  return choice == nullptr ? "no choice" : text_at(*choice, "message", "content");
}

std::optional<std::string> gist_of_stream(const std::string& events) {
  constexpr std::string_view kData = "data: ";
  std::string text;
  bool ended = false;
  for (size_t at = 0; at < events.size();) {
    const size_t end = std::min(events.find('\n', at), events.size());
    const std::string_view line = std::string_view(events).substr(at, end - at);
    at = end + 1;
    if (!line.starts_with(kData)) {
      if (line.empty() || line.starts_with(':')) continue;
      return std::nullopt;
    }
    if (ended) return std::nullopt;
    const std::string_view data = line.substr(kData.size());
    if (data == "[DONE]") {
      ended = true;
      continue;
    }
    const std::optional<json::object> chunk = object_of(data);
    if (!chunk || chunk->contains("error")) return std::nullopt;
    if (const json::object* choice = first_choice(*chunk))
      text += text_at(*choice, "delta", "content");
  }
  if (!ended) return std::nullopt;
  return text;
}

void Findings::add_wrong(std::string text) {
  const std::scoped_lock lock(mutex);
  if (wrong.size() < kWrongMax) wrong.push_back(std::move(text));
}

void ask_one(http::Client& client, const std::string& base, const std::vector<Question>& questions,
             Random& random, Findings& findings) {
  const Question& question = questions[random.below(questions.size())];
  const bool stream = !question.stream_body.empty() && random.chance(0.5);
  const Reply reply =
      ask(client, base + question.path, stream ? question.stream_body : question.body);
  if (reply.status == 429) {
    ++findings.refused;
    return;
  }
  if (reply.status != question.status) {
    findings.add_wrong(fmt::format("{} instead of {}: {}{} for {}", reply.status, question.status,
                                   reply.why, reply.body.substr(0, 300), question.body));
    return;
  }
  const std::optional<std::string> said =
      stream ? gist_of_stream(reply.body) : gist(question, reply.body);
  if (said != question.answer) {
    findings.add_wrong(fmt::format("{:?} instead of {:?}{} for {}", said.value_or(reply.body),
                                   question.answer, stream ? ", in a stream," : "", question.body));
    return;
  }
  ++findings.right;
}

}  // namespace windrow::load
