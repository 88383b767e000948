// The same requests in every form they may come in give the same results.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

#include <functional>
#include <map>
#include <ostream>
#include <string>
#include <utility>

#include "base/ensure.h"
#include "end_to_end/job_folder.h"
#include "end_to_end/process.h"

namespace windrow::end_to_end {
namespace {

using ::testing::HasSubstr;

std::string gzipped(const std::string& text) {
  z_stream stream = {};
  ENSURE(deflateInit2(&stream, 6, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK,
         "zlib does not start");
  std::string packed(deflateBound(&stream, text.size()), '\0');
  std::string unpacked = text;
  stream.next_in = reinterpret_cast<Bytef*>(unpacked.data());
  stream.avail_in = static_cast<uInt>(unpacked.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  ENSURE(deflate(&stream, Z_FINISH) == Z_STREAM_END, "zlib did not finish");
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

std::string zstd_packed(const std::string& text) {
  std::string packed(ZSTD_compressBound(text.size()), '\0');
  const size_t size = ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), 3);
  ENSURE(ZSTD_isError(size) == 0U, "zstd failed");
  packed.resize(size);
  return packed;
}

// In two halves that do not meet at a line end.
std::string halves(const std::string& text, const std::function<std::string(std::string)>& pack) {
  const size_t middle = text.size() / 2;
  return pack(text.substr(0, middle)) + pack(text.substr(middle));
}

std::string replaced(const std::string& text, const std::string& with) {
  std::string result;
  for (const char letter : text)
    result += letter == '\n' ? with : std::string(1, letter);
  return result;
}

struct Form {
  const char* name;
  const char* file;  // "-": standard input
  std::function<std::string(const std::string&)> of;
  bool same_line_numbers = true;
};

std::ostream& operator<<(std::ostream& stream, const Form& form) {
  return stream << form.name;
}

const Form kForms[] = {
    {"Gzip", "requests.jsonl.gz", gzipped},
    {"Zstd", "requests.jsonl.zst", zstd_packed},
    {"GzipUnderAnotherName", "other.jsonl", gzipped},
    {"ZstdUnderAnotherName", "other.jsonl", zstd_packed},
    {"TwoGzipMembers", "two.gz", [](const auto& text) { return halves(text, gzipped); }},
    {"TwoZstdFrames", "two.zst", [](const auto& text) { return halves(text, zstd_packed); }},
    {"StandardInput", "-", [](const auto& text) { return text; }},
    {"StandardInputGzip", "-", gzipped},
    {"StandardInputZstd", "-", zstd_packed},
    {"CarriageReturns", "dos.jsonl", [](const auto& text) { return replaced(text, "\r\n"); }},
    {"ByteOrderMark", "bom.jsonl", [](const auto& text) { return "\xEF\xBB\xBF" + text; }},
    {"ByteOrderMarkInGzip", "bom.gz",
     [](const auto& text) { return gzipped("\xEF\xBB\xBF" + text); }},
    {"NoLastLineEnd", "end.jsonl",
     [](const auto& text) { return text.substr(0, text.size() - 1); }},
    {"BlankLines", "blank.jsonl",
     [](const auto& text) { return "\n \t\n" + replaced(text, "\n\r\n   \n") + "\n\n"; }, false},
};

class InputForms : public ::testing::TestWithParam<Form> {};

INSTANTIATE_TEST_SUITE_P(All, InputForms, ::testing::ValuesIn(kForms),
                         [](const auto& tested) { return tested.param.name; });

std::map<std::string, std::string> answers(const std::vector<LogLine>& log) {
  std::map<std::string, std::string> result;
  for (const LogLine& line : log)
    result[member(line.json, "custom_id")] = member(line.json, "response.body.choices") +
                                             member(line.json, "response.body.usage.total_tokens") +
                                             member(line.json, "windrow.fingerprint");
  return result;
}

TEST_P(InputForms, GiveTheSameResults) {
  const Form& form = GetParam();
  JobFolder folder;
  folder.use_model(model_path("llama"));
  const std::string text = some_requests(12);
  folder.write("plain.jsonl", text);
  const Ended plain = folder.windrow(exact_run("plain.jsonl", "plain-results.jsonl"));
  ASSERT_EQ(plain.code, 0) << plain;

  Command command = folder.command(exact_run(form.file, "results.jsonl"));
  if (std::string_view(form.file) == "-") {
    command.input = form.of(text);
  } else {
    folder.write(form.file, form.of(text));
  }
  const Ended ended = run(command);
  EXPECT_EQ(ended.code, 0) << ended;
  const auto results = read_log(folder, "results.jsonl");
  const auto expected = read_log(folder, "plain-results.jsonl");
  EXPECT_EQ(results.size(), 12U);
  EXPECT_EQ(answers(results), answers(expected));
  if (form.same_line_numbers) {
    EXPECT_EQ(difference(outcomes(expected), outcomes(results)), "");
  }
}

// Whatever is opened first does not become standard input, and a job that wants none runs.
TEST(StandardInput, MayBeClosed) {
  JobFolder folder;
  folder.use_model(model_path("llama"));
  folder.write("requests.jsonl", some_requests(2));
  for (const std::string input : {"-", "requests.jsonl"}) {
    Command command = folder.command(exact_run(input, "results.jsonl"));
    const Words shell = {"/bin/sh", "-c", R"(exec "$0" "$@" <&-)"};
    command.words.insert(command.words.begin(), shell.begin(), shell.end());
    const Ended ended = run(command);
    EXPECT_EQ(ended.code, input == "-" ? 2 : 0) << ended;
    if (input == "-") EXPECT_THAT(ended.errors, HasSubstr("standard input is closed"));
  }
}

TEST(InputThatEndsEarly, IsSaidAfterTheRowsBeforeIt) {
  for (const std::string name : {"gzip", "zstd"}) {
    const auto pack = name == "gzip" ? gzipped : zstd_packed;
    JobFolder folder;
    folder.use_model(model_path("llama"));
    // Two members, and the second one is cut off.
    const std::string first = pack(some_requests(4));
    const std::string second = pack(chat_line("last", "the"));
    folder.write("requests", first + second.substr(0, second.size() / 2));
    const Words words = exact_run("requests", "results.jsonl");
    const Ended cut = folder.windrow(words);
    EXPECT_EQ(cut.code, 2) << cut;
    EXPECT_THAT(cut.errors,
                HasSubstr(fmt::format("requests: the {} data stops in the middle: the file is cut "
                                      "off; get the whole file and try again",
                                      name)));
    EXPECT_EQ(read_log(folder, "results.jsonl").size(), 4U);
    EXPECT_FALSE(folder.has("results.errors.jsonl") && folder.size_of("results.errors.jsonl") > 0);

    folder.write("requests", first + second);
    const Ended whole = folder.windrow(words);
    EXPECT_EQ(whole.code, 0) << whole;
    EXPECT_EQ(read_log(folder, "results.jsonl").size(), 5U);
  }
}

}  // namespace
}  // namespace windrow::end_to_end
