#include "api/openapi/openapi.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <cctype>
#include <cmath>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "api/calls/envelope.h"
#include "api/pages/pages.h"
#include "api/storage/response_store.h"
#include "api/testing/all_parts.h"
#include "api/testing/server_rig.h"
#include "llm/request_json.h"

namespace windrow::api {
namespace {

namespace json = boost::json;
using llm::Endpoint;
using ::testing::HasSubstr;

const json::object& document() {
  static const json::object made = testing::whole_document();
  return made;
}

// The part of JSON Schema that the bodies use, written from the specification.
class Judge {
 public:
  static bool accepts(const json::value& schema, const json::value& value) {
    const json::object& form = schema.as_object();
    if (const auto* name = form.if_contains("$ref")) {
      return accepts(resolve(name->as_string()), value);
    }
    if (const auto* forms = form.if_contains("anyOf")) {
      return std::ranges::any_of(forms->as_array(),
                                 [&](const json::value& one) { return accepts(one, value); });
    }
    if (const auto* values = form.if_contains("enum")) {
      if (!std::ranges::any_of(values->as_array(), [&](const auto& one) { return one == value; })) {
        return false;
      }
    }
    if (const auto* type = form.if_contains("type"); type != nullptr && !has_type(*type, value)) {
      return false;
    }
    if (value.is_number() && !in_bounds(form, value.to_number<double>())) return false;
    if (value.is_array() && !accepts_array(form, value.as_array())) return false;
    return !value.is_object() || accepts_object(form, value.as_object());
  }

 private:
  static const json::value& resolve(std::string_view name) {
    const json::value* at = document().if_contains("components");
    return at->at("schemas").at(name.substr(name.rfind('/') + 1));
  }

  static bool has_type(const json::value& type, const json::value& value) {
    if (type.is_array()) {
      return std::ranges::any_of(type.as_array(),
                                 [&](const json::value& one) { return has_type(one, value); });
    }
    const std::string_view name = type.as_string();
    if (name == "null") return value.is_null();
    if (name == "boolean") return value.is_bool();
    if (name == "string") return value.is_string();
    if (name == "array") return value.is_array();
    if (name == "object") return value.is_object();
    if (!value.is_number()) return false;
    const double number = value.to_number<double>();
    return name == "number" || number == std::floor(number);
  }

  static bool in_bounds(const json::object& form, double number) {
    const auto bound = [&](std::string_view name, auto holds) {
      const json::value* limit = form.if_contains(name);
      return limit == nullptr || holds(number, limit->to_number<double>());
    };
    return bound("minimum", std::greater_equal<>()) && bound("maximum", std::less_equal<>()) &&
           bound("exclusiveMinimum", std::greater<>());
  }

  static bool accepts_array(const json::object& form, const json::array& array) {
    const json::value* least = form.if_contains("minItems");
    const json::value* most = form.if_contains("maxItems");
    if (least != nullptr && array.size() < static_cast<size_t>(least->as_int64())) return false;
    if (most != nullptr && array.size() > static_cast<size_t>(most->as_int64())) return false;
    const json::value* items = form.if_contains("items");
    return items == nullptr ||
           std::ranges::all_of(array, [&](const json::value& one) { return accepts(*items, one); });
  }

  static bool accepts_object(const json::object& form, const json::object& object) {
    if (const auto* required = form.if_contains("required")) {
      for (const json::value& name : required->as_array()) {
        if (!object.contains(name.as_string())) return false;
      }
    }
    const json::value* properties = form.if_contains("properties");
    const json::value* others = form.if_contains("additionalProperties");
    for (const auto& [name, value] : object) {
      const json::value* one =
          properties == nullptr ? nullptr : properties->as_object().if_contains(name);
      if (one == nullptr) one = others;
      if (one != nullptr && !accepts(*one, value)) return false;
    }
    return true;
  }
};

std::vector<json::value> samples() {
  std::vector<json::value> all;
  for (const char* text : {"null",
                           "true",
                           "false",
                           "-101",
                           "-3",
                           "-2",
                           "-1",
                           "-0.5",
                           "0",
                           "0.005",
                           "0.01",
                           "0.5",
                           "1",
                           "1.5",
                           "2",
                           "2.5",
                           "7",
                           "10",
                           "11",
                           "20",
                           "21",
                           "100",
                           "128",
                           "129",
                           "1000",
                           "18446744073709551615",
                           "\"\"",
                           "\"a\"",
                           "\"auto\"",
                           "\"none\"",
                           "\"required\"",
                           "\"float\"",
                           "\"base64\"",
                           "\"flex\"",
                           "\"priority\"",
                           "\"interactive\"",
                           "\"batch\"",
                           "[]",
                           "[1]",
                           "[\"a\"]",
                           "[\"a\",\"b\"]",
                           "[[1,2],[3]]",
                           "[[\"a\"]]",
                           "[true]",
                           "[null]",
                           "[{}]",
                           R"([{"text":"a"}])",
                           R"([{"role":"user","content":"a"}])",
                           R"([{"role":1}])",
                           R"([{"role":"user","content":[{"type":"text","text":"a"}]}])",
                           R"([{"type":"function","function":{"name":"f"}}])",
                           "{}",
                           R"({"a":1})",
                           R"({"7":1})",
                           R"({"7":101})",
                           R"({"7":"x"})",
                           R"({"type":"text"})",
                           R"({"type":"json_object"})",
                           R"({"type":"other"})",
                           R"({"type":"object"})",
                           R"({"regex":"a+"})",
                           R"({"include_usage":true})",
                           R"({"include_usage":1})"}) {
    all.push_back(json::parse(text));
  }
  return all;
}

class BodySchema : public ::testing::TestWithParam<Endpoint> {};

TEST_P(BodySchema, AcceptsWhatTheParserDoesOfEachField) {
  const json::object schema = body_schema(GetParam());
  const json::object& properties = schema.at("properties").as_object();
  int both = 0;
  for (const llm::FieldRule& rule : llm::field_rules()) {
    if (!rule.endpoints.contains(GetParam())) continue;
    ASSERT_TRUE(properties.contains(rule.name)) << rule.name;
    // The server describes these fields further than the table; the next test compares that.
    if (rule.name == "stream" || rule.name == "stream_options" || rule.name == "service_tier") {
      continue;
    }
    const json::value& form = properties.at(rule.name);
    for (const json::value& value : samples()) {
      const bool parsed = !llm::check_field(GetParam(), rule.name, value).has_value();
      const bool accepted = Judge::accepts(form, value);
      if (parsed) {
        EXPECT_TRUE(accepted) << rule.name << ": " << json::serialize(value);
      }
      // Of arrays and objects, and of texts in a language, the parser knows more; and a large
      // number may not fit.
      const bool simple = !value.is_structured() && !value.is_string() && !value.is_uint64();
      if (!parsed && simple && !form.as_object().empty()) {
        EXPECT_FALSE(accepted) << rule.name << ": " << json::serialize(value);
      }
      both += parsed && accepted ? 1 : 0;
    }
  }
  EXPECT_GT(both, 10) << "the samples reach what is accepted";
}

TEST_P(BodySchema, AcceptsWhatTheServerTakesOutOfIt) {
  const json::object schema = body_schema(GetParam());
  for (const char* name : {"stream", "priority", "service_tier"}) {
    const json::value& form = schema.at("properties").at(name);
    for (const json::value& value : samples()) {
      if (value.is_uint64()) continue;  // an integer all the same, and refused for its size
      json::object body{{name, value}};
      const bool opened = std::holds_alternative<Envelope>(open_envelope(GetParam(), body, {}));
      EXPECT_EQ(Judge::accepts(form, value), opened) << name << ": " << json::serialize(value);
    }
  }
}

TEST_P(BodySchema, RequiresWhatTheParserDoes) {
  const json::object schema = body_schema(GetParam());
  json::object body;
  for (const json::value& name : schema.at("required").as_array()) {
    EXPECT_TRUE(std::holds_alternative<llm::Failure>(llm::parse_request(GetParam(), body, 0)));
    const std::string_view field = name.as_string();
    body[field] = field == "messages"    ? json::parse(R"([{"role":"user","content":"a"}])")
                  : field == "documents" ? json::value(json::array{"a"})
                                         : json::value("a");
  }
  EXPECT_TRUE(std::holds_alternative<llm::Request>(llm::parse_request(GetParam(), body, 0)));
}

INSTANTIATE_TEST_SUITE_P(OpenApi, BodySchema,
                         ::testing::ValuesIn(llm::endpoints().begin(), llm::endpoints().end()));

TEST(OpenApi, SaysWhyAFieldIsRefused) {
  const json::object schema = body_schema(Endpoint::kChatCompletions);
  EXPECT_THAT(std::string(schema.at("properties").at("functions").at("description").as_string()),
              HasSubstr("tools is its successor"));
}

void collect_references(const json::value& value, std::set<std::string>& found) {
  if (const json::array* array = value.if_array()) {
    for (const json::value& one : *array)
      collect_references(one, found);
  }
  if (const json::object* object = value.if_object()) {
    for (const auto& [name, one] : *object) {
      if (name == "$ref") found.insert(std::string(one.as_string()));
      collect_references(one, found);
    }
  }
}

TEST(OpenApi, EveryReferenceLeadsSomewhere) {
  std::set<std::string> references;
  collect_references(document(), references);
  EXPECT_GT(references.size(), 20U);
  const json::value all = document();
  for (const std::string& reference : references) {
    boost::system::error_code failed;
    EXPECT_NE(all.find_pointer(reference.substr(1), failed), nullptr) << reference;
  }
}

TEST(OpenApi, EveryRouteIsInIt) {
  const json::object& paths = document().at("paths").as_object();
  size_t operations = 0;
  for (const auto& path : paths)
    operations += path.value().as_object().size();
  EXPECT_EQ(operations, described_routes(document()).size());
  for (const DescribedRoute& route : described_routes(document())) {
    std::string method = route.method;
    std::ranges::transform(method, method.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    ASSERT_TRUE(paths.contains(route.path)) << route.path;
    EXPECT_TRUE(paths.at(route.path).as_object().contains(method)) << route.path;
  }
  for (const Endpoint endpoint : llm::endpoints())
    EXPECT_TRUE(paths.contains(llm::url_of(endpoint)));
}

// "/v1/models/{a}/{b}" is one more form of the path that the document writes with one name. Names
// that have something between them stay several: "/banks/{}/tags/{}".
std::string with_one_name(std::string_view path) {
  std::string same;
  while (!path.empty()) {
    if (path.front() != '{') {
      same += path.front();
      path.remove_prefix(1);
      continue;
    }
    path.remove_prefix(path.find('}') + 1);
    if (!same.ends_with("{}/")) {
      same += "{}";
    } else {
      same.pop_back();
    }
  }
  return same;
}

TEST(OpenApi, DescribesWhatTheServerAnswersAndNothingElse) {
  testing::ServerRig rig({.parts = testing::all_parts()});
  std::set<std::string> served;
  for (const auto& [method, path] : rig.server->routes())
    served.insert(method + " " + with_one_name(path));
  std::set<std::string> described;
  for (const DescribedRoute& route : described_routes(document()))
    described.insert(std::string(route.method) + " " + with_one_name(route.path));
  EXPECT_EQ(served, described);

  const testing::Reply reply = rig.ask(testing::get("/openapi.json"));
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.json().at("openapi"), "3.1.0");
  EXPECT_FALSE(reply.json().as_object().contains("security"));
}

// The other statuses of this page have tests of their own: a busy server (429) and one without
// memory (500).
TEST(OpenApi, SaysWhichErrorsAListOfItemsMayHave) {
  ResponseStore store(size_t{64} << 20);
  json::array items{{{"type", "message"}, {"content", std::string(size_t{33} << 20, 'x')}}};
  store.keep("k", {.id = "resp_long",
                   .body = R"({"output":[]})",
                   .input = stored_items("resp_long", std::move(items))});
  std::set<int> described;
  const json::value& page = document().at("paths").at("/v1/responses/{id}/input_items").at("get");
  for (const auto& response : page.at("responses").as_object())
    described.insert(std::stoi(std::string(response.key())));
  EXPECT_EQ(described, (std::set{200, 400, 401, 404, 413, 429, 500}));

  const auto answered = [&](std::string_view id, std::string_view query) {
    const http::ServerReply reply = show_input_items(store, "k", id, query);
    EXPECT_TRUE(described.contains(reply.status)) << reply.body;
    return reply.status;
  };
  EXPECT_EQ(answered("resp_long", "limit=0"), 400);
  EXPECT_EQ(answered("resp_gone", ""), 404);
  EXPECT_EQ(answered("resp_long", ""), 413);
}

TEST(OpenApi, SaysWhetherKeysAreDemanded) {
  EXPECT_TRUE(document().contains("security"));
  EXPECT_EQ(document().at("paths").at("/health").at("get").at("security"), json::array());
  EXPECT_FALSE(testing::whole_document(false).contains("security"));
}

}  // namespace
}  // namespace windrow::api
