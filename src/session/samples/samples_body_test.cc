#include "session/samples/samples_body.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <cstring>
#include <map>
#include <numeric>

#include "base/base64_decoder.h"
#include "base/random.h"

namespace windrow::session {
namespace {

namespace json = boost::json;

std::string all_of(BodySource& body, size_t bytes_wanted) {
  std::string bytes;
  for (size_t before = 0; body.next(bytes_wanted, bytes); before = bytes.size())
    EXPECT_GT(bytes.size(), before);
  EXPECT_FALSE(body.next(bytes_wanted, bytes)) << "it stays at its end";
  EXPECT_EQ(body.size(), bytes.size());
  return bytes;
}

struct Tensor {
  std::string dtype;
  std::vector<size_t> shape;
  std::string bytes;

  template <class T>
  std::vector<T> as() const {
    std::vector<T> values(bytes.size() / sizeof(T));
    std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
    return values;
  }
};

struct File {
  std::map<std::string, Tensor> tensors;
  std::vector<std::string> names;  // in the order of the file
  json::object meta;
};

// As strict as the library: no gap, no overlap, and the sizes that the shapes say.
File file_of(const std::string& bytes) {
  File file;
  uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof(length));
  EXPECT_EQ(length % 8, 0U);
  const size_t data = sizeof(length) + length;
  uint64_t end = 0;
  const json::value header = json::parse(bytes.substr(sizeof(length), length));
  for (const auto& [name, value] : header.as_object()) {
    Tensor tensor;
    tensor.dtype = value.at("dtype").as_string().c_str();
    size_t size = tensor.dtype == "U8" ? 1 : tensor.dtype == "I32" ? 4 : 8;
    for (const json::value& extent : value.at("shape").as_array()) {
      tensor.shape.push_back(extent.to_number<size_t>());
      size *= tensor.shape.back();
    }
    const auto begin = value.at("data_offsets").at(0).to_number<uint64_t>();
    EXPECT_EQ(begin, end) << name;
    end = value.at("data_offsets").at(1).to_number<uint64_t>();
    EXPECT_EQ(end - begin, size) << name;
    tensor.bytes = bytes.substr(data + begin, size);
    file.names.emplace_back(name);
    file.tensors.emplace(name, std::move(tensor));
  }
  EXPECT_EQ(data + end, bytes.size());
  file.meta = json::parse(file.tensors.at("_samples_meta").bytes).as_object();
  return file;
}

std::shared_ptr<TokenRows> rows(size_t first, size_t count, size_t each, int32_t begin) {
  auto made = std::make_shared<TokenRows>();
  made->first_row = first;
  made->values_per_row = each;
  std::vector<int32_t> values(count * each);
  std::iota(values.begin(), values.end(), begin);
  made->values.append(values);
  return made;
}

std::shared_ptr<Turn> turn(size_t kept, std::vector<int32_t> prompt, std::vector<int32_t> sampled,
                           std::vector<double> logprobs) {
  auto made = std::make_shared<Turn>();
  made->kept_tokens = kept;
  made->prompt = std::move(prompt);
  made->sampled = std::move(sampled);
  made->logprobs = std::move(logprobs);
  return made;
}

// The golden example of the trainers' reference server.
Sample golden_sample() {
  auto only = turn(0, {1, 2, 3}, {10, 11}, {-0.5, -0.1234567891234567});
  only->rows[0] = rows(0, 4, 6, 0);
  Sample sample;
  sample.path = TurnPath({only});
  sample.tokens = 5;
  sample.response_begin = 3;
  sample.status = SampleStatus::kCompleted;
  sample.response = "[10][11]";
  sample.has_rows[0] = true;
  sample.weight_versions = {"w1", "w2"};
  sample.cached_tokens = 2;
  sample.prompt_tokens = 3;
  sample.metadata = json::parse(R"({"lifecycle":[{"t0":1.0,"t1":2.0,"turn":1}],)"
                                R"("messages":[{"role":"assistant","content":"done"}]})")
                        .as_object();
  return sample;
}

TEST(SamplesBody, HasTheBytesOfTheReferenceServer) {
  constexpr std::string_view kGolden =
      "aAEAAAAAAAB7InRva2Vucy4wIjp7ImR0eXBlIjoiSTY0Iiwic2hhcGUiOls1XSwiZGF0YV9vZmZzZXRzIjpb"
      "MCw0MF19LCJyb2xsb3V0X2xvZ19wcm9icy4wIjp7ImR0eXBlIjoiRjY0Iiwic2hhcGUiOlsyXSwiZGF0YV9v"
      "ZmZzZXRzIjpbNDAsNTZdfSwicm9sbG91dF9yb3V0ZWRfZXhwZXJ0cy4wIjp7ImR0eXBlIjoiSTMyIiwic2hh"
      "cGUiOls0LDMsMl0sImRhdGFfb2Zmc2V0cyI6WzU2LDE1Ml19LCJfc2FtcGxlc19tZXRhIjp7ImR0eXBlIjoi"
      "VTgiLCJzaGFwZSI6WzM3M10sImRhdGFfb2Zmc2V0cyI6WzE1Miw1MjVdfSwibG9zc19tYXNrLjAiOnsiZHR5"
      "cGUiOiJVOCIsInNoYXBlIjpbMl0sImRhdGFfb2Zmc2V0cyI6WzUyNSw1MjddfX0gICAgICABAAAAAAAAAAIA"
      "AAAAAAAAAwAAAAAAAAAKAAAAAAAAAAsAAAAAAAAAAAAAAAAA4L9YIcE33Zq/vwAAAAABAAAAAgAAAAMAAAAE"
      "AAAABQAAAAYAAAAHAAAACAAAAAkAAAAKAAAACwAAAAwAAAANAAAADgAAAA8AAAAQAAAAEQAAABIAAAATAAAA"
      "FAAAABUAAAAWAAAAFwAAAHsic2FtcGxlcyI6W3sicmVzcG9uc2UiOiJbMTBdWzExXSIsInJlc3BvbnNlX2xl"
      "bmd0aCI6Miwic3RhdHVzIjoiY29tcGxldGVkIiwid2VpZ2h0X3ZlcnNpb25zIjpbIncxIiwidzIiXSwicHJl"
      "Zml4X2NhY2hlX2luZm8iOnsiY2FjaGVkX3Rva2VucyI6MiwidG90YWxfcHJvbXB0X3Rva2VucyI6M30sIm1l"
      "dGFkYXRhIjp7ImxpZmVjeWNsZSI6W3sidDAiOjEuMCwidDEiOjIuMCwidHVybiI6MX1dLCJtZXNzYWdlcyI6"
      "W3sicm9sZSI6ImFzc2lzdGFudCIsImNvbnRlbnQiOiJkb25lIn1dfSwibnVsbHMiOlsicm9sbG91dF9pbmRl"
      "eGVyX3RvcGsiXX1dLCJzZXNzaW9uX21ldGFkYXRhIjp7Im1heF90cmltX3Rva2VucyI6MX0sImVtcHR5X3Jl"
      "YXNvbiI6bnVsbH0BAQ==";
  std::string expected;
  Base64Decoder decoder;
  ASSERT_TRUE(decoder.decode(kGolden, expected));
  ASSERT_EQ(expected.size(), 895U);
  for (const size_t bytes_wanted : {1U, 7U, 64U, 4096U}) {
    SamplesBodyOptions options;
    options.shapes[0].layers = 3;
    options.session_metadata = {{"max_trim_tokens", 1}};
    Samples samples;
    samples.samples.push_back(golden_sample());
    const auto body = make_samples_body(std::move(samples), std::move(options));
    EXPECT_EQ(body->size(), 895U) << "known before anything is made";
    EXPECT_EQ(all_of(*body, bytes_wanted), expected);
  }
}

TEST(SamplesBody, WithoutSamplesHasTheReason) {
  for (const auto& [reason, name] : {std::pair(EmptyReason::kNoRecords, "no_records"),
                                     std::pair(EmptyReason::kAllTruncated, "all_truncated")}) {
    SamplesBodyOptions options;
    options.session_metadata = {{"accumulated_token_ids", json::array()}, {"max_trim_tokens", 0}};
    const auto body = make_samples_body({.samples = {}, .empty = reason}, std::move(options));
    const std::string bytes = all_of(*body, 100);
    const File file = file_of(bytes);
    EXPECT_EQ(file.names, std::vector<std::string>{"_samples_meta"});
    EXPECT_EQ(json::serialize(file.meta),
              std::string(R"({"samples":[],"session_metadata":{"accumulated_token_ids":[],)") +
                  R"("max_trim_tokens":0},"empty_reason":")" + name + R"("})");
    if (reason == EmptyReason::kNoRecords) EXPECT_EQ(bytes.size(), 190U);
  }
}

TEST(SamplesBody, RowsWithoutNumbersAreNotAbsentRows) {
  Sample sample;
  sample.path = TurnPath({turn(0, {1}, {}, {})});
  sample.tokens = 1;
  sample.response_begin = 1;
  sample.has_rows[0] = true;
  SamplesBodyOptions options;
  options.shapes[0].layers = 2;
  const auto body = make_samples_body({.samples = {sample}, .empty = {}}, std::move(options));
  const File file = file_of(all_of(*body, 100));
  EXPECT_EQ(file.tensors.at("rollout_routed_experts.0").shape, (std::vector<size_t>{0, 2, 0}));
  EXPECT_EQ(file.tensors.at("loss_mask.0").shape, std::vector<size_t>{0});
  const json::object& meta = file.meta.at("samples").at(0).as_object();
  EXPECT_EQ(json::serialize(meta.at("nulls")), R"(["rollout_indexer_topk"])");
  EXPECT_EQ(meta.at("status"), "pending");
}

TEST(SamplesBody, ARowThatLayersDoNotDivideIsOneList) {
  for (const size_t layers : {0U, 4U}) {
    SamplesBodyOptions options;
    options.shapes[0].layers = layers;
    const auto body =
        make_samples_body({.samples = {golden_sample()}, .empty = {}}, std::move(options));
    const File file = file_of(all_of(*body, 100));
    EXPECT_EQ(file.tensors.at("rollout_routed_experts.0").shape, (std::vector<size_t>{4, 1, 6}));
  }
}

TEST(SamplesBody, IndexerRowsHaveTheLayersThatTheServerTold) {
  Sample sample = golden_sample();
  auto last = std::make_shared<Turn>(sample.path.last());
  last->rows[1] = last->rows[0];
  last->figures.indexer_layers = 2;
  sample.path = TurnPath({last});
  sample.has_rows[1] = true;
  const auto body = make_samples_body({.samples = {sample}, .empty = {}}, {});
  const File file = file_of(all_of(*body, 100));
  EXPECT_EQ(file.tensors.at("rollout_indexer_topk.0").shape, (std::vector<size_t>{4, 2, 3}));
}

TEST(SamplesBody, TreesHaveARewardForEachSample) {
  Sample with = golden_sample();
  with.metadata["reward"] = 1.5;
  SamplesBodyOptions options;
  options.with_reward = true;
  const auto body =
      make_samples_body({.samples = {with, golden_sample()}, .empty = {}}, std::move(options));
  const File file = file_of(all_of(*body, 100));
  const json::array& samples = file.meta.at("samples").as_array();
  EXPECT_EQ(samples[0].at("reward"), 1.5);
  EXPECT_EQ(samples[0].at("metadata").at("reward"), 1.5);
  EXPECT_TRUE(samples[1].at("reward").is_null());
  std::vector<std::string> names;
  for (const auto& member : samples[1].as_object())
    names.emplace_back(member.key());
  EXPECT_EQ(names,
            (std::vector<std::string>{"response", "response_length", "status", "weight_versions",
                                      "prefix_cache_info", "metadata", "reward", "nulls"}));
}

TEST(SamplesBody, AResponseThatIsNoTextIsRepaired) {
  Sample sample = golden_sample();
  sample.response = "a\xC3";
  const auto body = make_samples_body({.samples = {sample}, .empty = {}}, {});
  EXPECT_EQ(file_of(all_of(*body, 100)).meta.at("samples").at(0).at("response"), "a\uFFFD");
}

// Many samples of several turns, cut and whole, against numbers computed one by one.
TEST(SamplesBody, AnyPiecesGiveTheTensorsOfAllSamples) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    Samples samples;
    std::vector<std::vector<int32_t>> tokens;
    std::vector<std::string> masks;
    std::vector<std::vector<double>> logprobs;
    for (size_t i = 0; i < 12; ++i) {
      std::vector<TurnPtr> turns;
      std::vector<int32_t> all;
      std::string mask;
      std::vector<double> all_logprobs;
      size_t first_prompt = 0;
      for (uint64_t t = 0; t <= random.below(3); ++t) {
        std::vector<int32_t> prompt(1 + random.below(40));
        std::vector<int32_t> sampled(1 + random.below(40));
        std::vector<double> of_sampled(sampled.size());
        for (int32_t& id : prompt)
          id = static_cast<int32_t>(random.below(150'000));
        for (int32_t& id : sampled)
          id = static_cast<int32_t>(random.below(150'000));
        for (double& logprob : of_sampled)
          logprob = -random.unit();
        auto made = turn(all.size(), prompt, sampled, of_sampled);
        const size_t before = all.empty() ? 0 : all.size() - 1;
        all.insert(all.end(), prompt.begin(), prompt.end());
        all.insert(all.end(), sampled.begin(), sampled.end());
        made->rows[0] = rows(before, all.size() - 1 - before, 4, static_cast<int32_t>(before) * 4);
        if (t == 0) {
          first_prompt = prompt.size();
        } else {
          mask.append(prompt.size(), '\0');
          all_logprobs.insert(all_logprobs.end(), prompt.size(), 0.0);
        }
        mask.append(sampled.size(), '\1');
        all_logprobs.insert(all_logprobs.end(), of_sampled.begin(), of_sampled.end());
        turns.push_back(std::move(made));
      }
      Sample sample;
      sample.path = TurnPath(turns);
      sample.tokens = all.size() - random.below(all.size() - first_prompt);
      sample.response_begin = first_prompt;
      sample.has_rows[0] = i % 3 != 0;
      all.resize(sample.tokens);
      mask.resize(sample.response_length());
      all_logprobs.resize(sample.response_length());
      tokens.push_back(all);
      masks.push_back(mask);
      logprobs.push_back(all_logprobs);
      samples.samples.push_back(std::move(sample));
    }
    SamplesBodyOptions options;
    options.shapes[0].layers = 2;
    const auto body = make_samples_body(std::move(samples), std::move(options));
    const File file = file_of(all_of(*body, 1 + random.below(600)));
    ASSERT_EQ(file.meta.at("samples").as_array().size(), tokens.size());
    for (size_t i = 0; i < tokens.size(); ++i) {
      const std::string suffix = "." + std::to_string(i);
      const Tensor& ids = file.tensors.at("tokens" + suffix);
      EXPECT_EQ(ids.dtype, "I64");
      EXPECT_EQ(ids.as<int64_t>(), std::vector<int64_t>(tokens[i].begin(), tokens[i].end()));
      EXPECT_EQ(file.tensors.at("loss_mask" + suffix).bytes, masks[i]);
      EXPECT_EQ(file.tensors.at("rollout_log_probs" + suffix).as<double>(), logprobs[i]);
      ASSERT_EQ(file.tensors.contains("rollout_routed_experts" + suffix), i % 3 != 0);
      if (i % 3 == 0) continue;
      const Tensor& experts = file.tensors.at("rollout_routed_experts" + suffix);
      EXPECT_EQ(experts.shape, (std::vector<size_t>{tokens[i].size() - 1, 2, 2}));
      std::vector<int32_t> expected(4 * (tokens[i].size() - 1));
      std::iota(expected.begin(), expected.end(), 0);
      EXPECT_EQ(experts.as<int32_t>(), expected);
    }
    EXPECT_EQ(file.names[2], "tokens.10") << "names are in the order of their bytes";
    EXPECT_EQ(file.names.back(), "loss_mask.9");
  }
}

}  // namespace
}  // namespace windrow::session
