// WildBodies: request bodies that no client should send, each decided by a seed: good ones with a
// byte changed, cut or doubled, members of any kind, depth, numbers beyond all bounds, ill-formed
// text.
#pragma once

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/random.h"

namespace windrow::testing {

class WildBodies {
 public:
  explicit WildBodies(uint64_t seed) : random_(seed) {}

  std::string next() {
    std::string body = random_.chance(0.5) ? std::string(pick(kGood)) : object(0);
    for (uint64_t changes = random_.below(4); changes > 0 && !body.empty(); --changes)
      alter(body);
    return body;
  }

 private:
  static constexpr std::array<std::string_view, 18> kGood = {
      R"({"model":"m","messages":[{"role":"user","content":"hi"}],"stream":true})",
      R"({"messages":[{"role":"system","content":[{"type":"text","text":"a"}]},
          {"role":"user","content":"b","name":"c"}],"n":3,"logprobs":true,"top_logprobs":2})",
      R"({"messages":[{"role":"user","content":"x"}],"response_format":{"type":"json_schema",
          "json_schema":{"name":"a","schema":{"type":"object","properties":{"b":{}}}}}})",
      R"({"messages":[{"role":"assistant","tool_calls":[{"id":"1","type":"function",
          "function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"1",
          "content":"x"}],"tools":[{"type":"function","function":{"name":"f"}}]})",
      R"({"prompt":["a","b"],"max_tokens":0,"echo":true,"logprobs":5,"stop":["x","y"]})",
      R"({"prompt":[[1,2],[3]],"logit_bias":{"5":-100,"x":1},"seed":-1,"stream":true,
          "stream_options":{"include_usage":true}})",
      R"({"input":["a","b",""],"dimensions":2,"encoding_format":"base64"})",
      R"({"input":[1,2,3],"user":"u"})",
      R"({"query":"q","documents":["a",{"text":"b"}],"top_n":1,"return_documents":true})",
      R"({"query":"q","texts":["a","b"],"raw_scores":true,"return_text":true})",
      R"({"messages":[{"role":"user","content":"hi"}],"priority":"batch","service_tier":"flex"})",
      R"({"prompt":"a","guided_regex":"(a|b)*","temperature":0.5,"top_p":1e-3})",
      R"({"model":"m","input":"hi","instructions":"b","max_output_tokens":3,"stream":true})",
      R"({"input":[{"role":"user","content":[{"type":"input_text","text":"a"}]},
          {"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"b"}]},
          {"type":"function_call","call_id":"c","name":"f","arguments":"{}"},
          {"type":"function_call_output","call_id":"c","output":"d"}],"store":true})",
      R"({"input":"a","text":{"format":{"type":"json_schema","name":"n","schema":{}}},
          "tools":[{"type":"function","name":"f","parameters":{}}],"metadata":{"k":"v"}})",
      R"({"model":"m","max_tokens":5,"system":"s","messages":[{"role":"user","content":"hi"}],
          "stream":true,"stop_sequences":["x"],"thinking":{"type":"disabled"}})",
      R"({"max_tokens":5,"messages":[{"role":"user","content":[{"type":"text","text":"a"}]},
          {"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{}}]},
          {"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"x"}]}]})",
      R"({"max_tokens":5,"messages":[{"role":"user","content":"a"}],"metadata":{"user_id":"u"},
          "tools":[{"name":"f","input_schema":{}}],"tool_choice":{"type":"none"}})"};

  static constexpr std::array<std::string_view, 25> kNames = {"model",
                                                              "messages",
                                                              "prompt",
                                                              "input",
                                                              "query",
                                                              "texts",
                                                              "documents",
                                                              "stream",
                                                              "stream_options",
                                                              "instructions",
                                                              "max_output_tokens",
                                                              "max_tokens",
                                                              "system",
                                                              "thinking",
                                                              "priority",
                                                              "n",
                                                              "temperature",
                                                              "service_tier",
                                                              "response_format",
                                                              "tools",
                                                              "stop",
                                                              "logit_bias",
                                                              "guided_choice",
                                                              "chat_template_kwargs",
                                                              "\\u0073tream"};

  static constexpr std::array<std::string_view, 18> kScalars = {"null",
                                                                "true",
                                                                "false",
                                                                "0",
                                                                "-1",
                                                                "1e400",
                                                                "-0.0",
                                                                "18446744073709551616",
                                                                "99999999999999999999999999",
                                                                "1e-400",
                                                                "\"\"",
                                                                "\"m\"",
                                                                "\"\\ud800\"",
                                                                "\"\\u0000\"",
                                                                "\"\xC3\x28\"",
                                                                "\"\xF0\x9F\x98\x80\"",
                                                                "\"batch\"",
                                                                "2147483648"};

  template <size_t N>
  std::string_view pick(const std::array<std::string_view, N>& list) {
    return list[random_.below(N)];
  }

  std::string object(int depth) {
    std::string text = "{";
    for (uint64_t members = random_.below(6); members > 0; --members) {
      if (text.size() > 1) text += ',';
      text += fmt::format("\"{}\":{}", pick(kNames), value(depth + 1));
    }
    return text + '}';
  }

  std::string value(int depth) {
    if (random_.chance(0.01)) {
      const auto deep = static_cast<size_t>(random_.between(1, 3000));
      return std::string(deep, '[') + std::string(deep, ']');
    }
    if (depth > 4 || random_.chance(0.5)) return std::string(pick(kScalars));
    if (random_.chance(0.5)) return object(depth);
    std::string text = "[";
    for (uint64_t elements = random_.below(4); elements > 0; --elements)
      text += (text.size() > 1 ? "," : "") + value(depth + 1);
    return text + ']';
  }

  void alter(std::string& body) {
    const auto at = static_cast<size_t>(random_.below(body.size()));
    switch (random_.below(5)) {
      case 0:
        body[at] = static_cast<char>(random_.below(256));
        break;
      case 1:
        body.erase(at, 1 + static_cast<size_t>(random_.below(8)));
        break;
      case 2:
        body.insert(at, body.substr(at / 2, static_cast<size_t>(random_.below(20))));
        break;
      case 3:
        body.insert(at, pick(kScalars));
        break;
      default:
        body.resize(at);
    }
  }

  Random random_;
};

}  // namespace windrow::testing
