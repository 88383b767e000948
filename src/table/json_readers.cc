#include "table/json_readers.h"

#include <fmt/format.h>

#include <atomic>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/format.h"
#include "base/utf8.h"
#include "batch/line_source.h"
#include "json/parse.h"
#include "json/values.h"

namespace windrow::table {
namespace {

constexpr size_t kPieceBytes = size_t{32} << 10;

// `place`: "line 7", "record 7 (line 12)".
void read_object(std::string_view text, const std::string& place, Record& record) {
  const auto refuse = [&](std::string message) {
    record.problem =
        batch::LineProblem{.code = "invalid_record", .message = place + " " + std::move(message)};
  };
  auto parsed = parse_json(text);
  if (const auto* fault = std::get_if<JsonFault>(&parsed)) {
    return refuse(fault->kind == JsonFault::Kind::kNotUtf8
                      ? "is not UTF-8; save the file as UTF-8"
                      : fmt::format("is not JSON: {} near byte {}", fault->reason, fault->byte));
  }
  auto& value = std::get<boost::json::value>(parsed);
  if (!value.is_object()) {
    return refuse(fmt::format("is {}; a record is an object whose members are the columns",
                              kind_name(value)));
  }
  record.values = std::move(value.get_object());
}

// --- one array ----------------------------------------------------------------------------------

class JsonArrayReader final : public RecordReader {
 public:
  JsonArrayReader(std::unique_ptr<RecordBytes> bytes, std::string name, const ReadOptions& options)
      : bytes_(std::move(bytes)),
        name_(std::move(name)),
        record_bytes_max_(options.record_bytes_max),
        buffer_(kPieceBytes, '\0') {}

  Result<std::optional<Record>> next() override {
    while (!error_ && !interrupted_) {
      if (std::optional<Record> record = scan()) return record;
      if (error_ || expect_ == Expect::kEnd) break;
      if (Result<void> read = read_more(); !read) fail(read.error());
    }
    if (error_ && !interrupted_) return *error_;
    return std::optional<Record>();
  }

  const std::vector<std::string>* columns() const override { return nullptr; }
  RecordFormat format() const override { return RecordFormat::kJsonArray; }
  uint64_t bytes_read() const override { return bytes_->bytes_read(); }
  void interrupt() override {
    interrupted_ = true;
    bytes_->interrupt();
  }

 private:
  enum class Expect : uint8_t {
    kArray,    // the bracket that opens it
    kElement,  // an element, or its rest
    kSpace,    // behind the array
    kEnd,
  };

  Result<void> read_more() {
    const Result<size_t> got = bytes_->read(buffer_.data(), buffer_.size());
    if (!got) return got.error();
    at_ = 0;
    end_ = *got;
    if (*got > 0 || interrupted_) return {};
    if (expect_ != Expect::kSpace) {
      return Error{
          ErrorKind::kInvalid,
          fmt::format("line {}: the array of records does not end: the file is cut off, or "
                      "a bracket or quote is not closed",
                      line_)};
    }
    expect_ = Expect::kEnd;
    return {};
  }

  // The next element, if it ends within the bytes that were read.
  std::optional<Record> scan() {
    while (at_ < end_) {
      const char byte = buffer_[at_++];
      if (byte == '\n') ++line_;
      switch (expect_) {
        case Expect::kArray:
          open_array(byte);
          break;
        case Expect::kElement:
          if (std::optional<Record> record = take(byte)) return record;
          break;
        case Expect::kSpace:
        case Expect::kEnd:
          if (!is_space(byte)) {
            fail({ErrorKind::kInvalid,
                  fmt::format(
                      "line {}: something follows the array of records; a file has one array",
                      line_)});
          }
          break;
      }
      if (error_) return std::nullopt;
    }
    return std::nullopt;
  }

  // A byte order mark and blanks may come first.
  void open_array(char byte) {
    if (byte == '[') {
      expect_ = Expect::kElement;
    } else if (!is_space(byte) && kByteOrderMark.find(byte) == std::string_view::npos) {
      fail({ErrorKind::kInvalid, fmt::format("line {}: an array of records begins with [", line_)});
    }
  }

  std::optional<Record> take(char byte) {
    if (in_string_) {
      in_string_ = escaped_ || byte != '"';
      escaped_ = !escaped_ && byte == '\\';
    } else if (depth_ == 0 && (byte == ',' || byte == ']')) {
      return end_element(byte == ']');
    } else if (byte == '"') {
      in_string_ = true;
    } else if (byte == '{' || byte == '[') {
      ++depth_;
    } else if (byte == '}' || byte == ']') {
      --depth_;
    } else if (is_space(byte) && element_.empty()) {
      return std::nullopt;
    }
    if (depth_ < 0) {
      fail({ErrorKind::kInvalid,
            fmt::format("line {}: a bracket closes that was not opened", line_)});
      return std::nullopt;
    }
    if (element_.empty()) element_line_ = line_;
    element_ += byte;
    if (element_.size() > record_bytes_max_) {
      fail({ErrorKind::kInvalid,
            fmt::format("line {}: the record that begins here is longer than {}; most likely a "
                        "bracket or quote is not closed",
                        element_line_, human_bytes(record_bytes_max_))});
    }
    return std::nullopt;
  }

  std::optional<Record> end_element(bool last) {
    if (last) expect_ = Expect::kSpace;
    if (element_.empty()) {
      if (!last || number_ > 0) {
        fail({ErrorKind::kInvalid, fmt::format("line {}: there is a comma and no record {} it",
                                               line_, last ? "after" : "before")});
      }
      return std::nullopt;
    }
    Record record{.line = number_ + 1, .number = number_ + 1, .of_array = true};
    ++number_;
    read_object(element_, fmt::format("record {} (line {})", number_, element_line_), record);
    element_.clear();
    return record;
  }

  static bool is_space(char byte) {
    return byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t';
  }

  void fail(const Error& error) { error_ = error.in(name_); }

  std::unique_ptr<RecordBytes> bytes_;
  const std::string name_;
  const size_t record_bytes_max_;
  std::string buffer_;
  size_t at_ = 0;
  size_t end_ = 0;

  Expect expect_ = Expect::kArray;
  std::string element_;  // its bytes so far
  uint64_t element_line_ = 1;
  int64_t depth_ = 0;
  bool in_string_ = false;
  bool escaped_ = false;

  uint64_t line_ = 1;
  uint64_t number_ = 0;  // of records returned
  std::optional<Error> error_;
  std::atomic<bool> interrupted_ = false;
};

// --- lines --------------------------------------------------------------------------------------

class LineRecords final : public RecordReader {
 public:
  LineRecords(std::unique_ptr<RecordBytes> bytes, std::string name, RecordFormat format,
              const ReadOptions& options)
      : bytes_(*bytes),
        lines_(batch::make_line_source(std::move(bytes), std::move(name),
                                       {.line_bytes_max = options.record_bytes_max})),
        format_(format) {}

  Result<std::optional<Record>> next() override {
    const Result<std::optional<batch::Line>> line = lines_->next();
    if (!line) return line.error();
    if (!*line) return std::optional<Record>();
    return std::optional<Record>(record_of(**line));
  }

  const std::vector<std::string>* columns() const override {
    return format_ == RecordFormat::kText ? &text_column_ : nullptr;
  }
  RecordFormat format() const override { return format_; }
  uint64_t bytes_read() const override { return bytes_.bytes_read(); }
  void interrupt() override { lines_->interrupt(); }

 private:
  Record record_of(const batch::Line& line) {
    Record record{.line = line.number, .number = ++number_};
    const std::string place = fmt::format("line {}", line.number);
    if (line.too_long) {
      record.problem = batch::LineProblem{
          .code = "invalid_record",
          .message = fmt::format("{} has {} bytes, which is too long for one record", place,
                                 with_thousands(static_cast<int64_t>(line.length)))};
    } else if (format_ == RecordFormat::kJsonLines) {
      read_object(line.bytes, place, record);
    } else if (!is_utf8(line.bytes)) {
      record.problem = batch::LineProblem{
          .code = "invalid_record", .message = place + " is not UTF-8; save the file as UTF-8"};
    } else {
      record.values.emplace("text", line.bytes);
    }
    return record;
  }

  RecordBytes& bytes_;  // lines_ owns it
  std::unique_ptr<batch::LineSource> lines_;
  const RecordFormat format_;
  const std::vector<std::string> text_column_ = {"text"};
  uint64_t number_ = 0;
};

}  // namespace

std::unique_ptr<RecordReader> read_json_array(std::unique_ptr<RecordBytes> bytes, std::string name,
                                              const ReadOptions& options) {
  return std::make_unique<JsonArrayReader>(std::move(bytes), std::move(name), options);
}

std::unique_ptr<RecordReader> read_lines(std::unique_ptr<RecordBytes> bytes, std::string name,
                                         RecordFormat format, const ReadOptions& options) {
  return std::make_unique<LineRecords>(std::move(bytes), std::move(name), format, options);
}

}  // namespace windrow::table
