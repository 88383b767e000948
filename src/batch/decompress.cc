#include "batch/input.h"

#include <fmt/format.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace windrow::batch {
namespace {

using std::string_view_literals::operator""sv;

constexpr size_t kBlockBytes = size_t{1} << 15;

Error stops_short(std::string_view kind) {
  return Error{ErrorKind::kInvalid,
               fmt::format("the {} data stops in the middle: the file is cut off; get the whole "
                           "file and try again",
                           kind)};
}

Error damaged(std::string_view kind, std::string_view why) {
  return Error{ErrorKind::kInvalid,
               fmt::format("the {} data is damaged ({}); get the file again, or what can be saved "
                           "of it, and try again",
                           kind, why)};
}

// Packed bytes, block by block, with a look at the first ones.
class PackedBytes {
 public:
  explicit PackedBytes(std::unique_ptr<ByteSource> source)
      : source_(std::move(source)), block_(kBlockBytes, '\0') {}

  // Bytes that have been read and not been decompressed.
  std::string_view bytes() const { return std::string_view(block_).substr(begin_, end_ - begin_); }
  void take(size_t count) { begin_ += count; }

  // More behind what is there; false at the end.
  Result<bool> fill() {
    if (begin_ == end_) begin_ = end_ = 0;
    if (end_ == block_.size()) {
      std::memmove(block_.data(), block_.data() + begin_, end_ - begin_);
      end_ -= std::exchange(begin_, 0);
    }
    const auto got = source_->read(block_.data() + end_, block_.size() - end_);
    if (!got) return got.error();
    end_ += *got;
    return *got > 0;
  }

  void interrupt() { source_->interrupt(); }

 private:
  std::unique_ptr<ByteSource> source_;
  std::string block_;
  size_t begin_ = 0;
  size_t end_ = 0;
};

class Decoder {
 public:
  virtual ~Decoder() = default;
  // As ByteSource::read.
  virtual Result<size_t> read(PackedBytes& packed, char* buffer, size_t size) = 0;
};

class PlainDecoder final : public Decoder {
 public:
  Result<size_t> read(PackedBytes& packed, char* buffer, size_t size) override {
    if (packed.bytes().empty()) {
      const auto more = packed.fill();
      if (!more) return more.error();
    }
    const size_t count = std::min(size, packed.bytes().size());
    std::memcpy(buffer, packed.bytes().data(), count);
    packed.take(count);
    return count;
  }
};

class GzipDecoder final : public Decoder {
 public:
  GzipDecoder() { ready_ = inflateInit2(&stream_, MAX_WBITS + 16) == Z_OK; }
  ~GzipDecoder() override { inflateEnd(&stream_); }
  GzipDecoder(const GzipDecoder&) = delete;
  GzipDecoder& operator=(const GzipDecoder&) = delete;

  Result<size_t> read(PackedBytes& packed, char* buffer, size_t size) override {
    if (!ready_) return damaged("gzip", "zlib does not start");
    for (;;) {
      if (packed.bytes().empty()) {
        const auto more = packed.fill();
        if (!more) return more.error();
        if (!*more) {
          if (in_member_) return stops_short("gzip");
          return size_t{0};
        }
      }
      if (!in_member_) {
        if (!begin_member(packed)) continue;
      }
      const std::string_view bytes = packed.bytes();
      stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
      stream_.avail_in = static_cast<uInt>(bytes.size());
      stream_.next_out = reinterpret_cast<Bytef*>(buffer);
      stream_.avail_out = static_cast<uInt>(size);
      const int status = inflate(&stream_, Z_NO_FLUSH);
      packed.take(bytes.size() - stream_.avail_in);
      const size_t made = size - stream_.avail_out;
      if (status == Z_STREAM_END) {
        in_member_ = false;
      } else if (status != Z_OK && status != Z_BUF_ERROR && made == 0) {
        return damaged("gzip", stream_.msg != nullptr ? stream_.msg : "zlib gives no reason");
      }
      if (made > 0) return made;
    }
  }

 private:
  // Tapes and some tools fill up with zeros behind the last member.
  bool begin_member(PackedBytes& packed) {
    const std::string_view bytes = packed.bytes();
    const size_t zeros = std::min(bytes.find_first_not_of('\0'), bytes.size());
    if (!first_member_ && zeros > 0) {
      packed.take(zeros);
      return false;
    }
    first_member_ = false;
    in_member_ = true;
    inflateReset(&stream_);
    return true;
  }

  z_stream stream_ = {};
  bool ready_ = false;
  bool first_member_ = true;
  bool in_member_ = false;
};

class ZstdDecoder final : public Decoder {
 public:
  ZstdDecoder() : stream_(ZSTD_createDStream()) {}
  ~ZstdDecoder() override { ZSTD_freeDStream(stream_); }
  ZstdDecoder(const ZstdDecoder&) = delete;
  ZstdDecoder& operator=(const ZstdDecoder&) = delete;

  Result<size_t> read(PackedBytes& packed, char* buffer, size_t size) override {
    if (stream_ == nullptr) return damaged("zstd", "libzstd does not start");
    for (;;) {
      // A full output may leave more inside, so the input is asked for only when nothing comes.
      ZSTD_inBuffer in = {packed.bytes().data(), packed.bytes().size(), 0};
      ZSTD_outBuffer out = {buffer, size, 0};
      if (in_frame_ || in.size > 0) {
        const size_t status = ZSTD_decompressStream(stream_, &out, &in);
        packed.take(in.pos);
        if (ZSTD_isError(status) != 0U) return damaged("zstd", ZSTD_getErrorName(status));
        if (in.pos > 0 || out.pos > 0) in_frame_ = status != 0;
        if (out.pos > 0) return out.pos;
        if (in.pos > 0) continue;
      }
      const auto more = packed.fill();
      if (!more) return more.error();
      if (!*more) {
        if (in_frame_) return stops_short("zstd");
        return size_t{0};
      }
    }
  }

 private:
  ZSTD_DStream* stream_;
  bool in_frame_ = false;
};

// The first bytes of other packers: their lines would be gibberish.
struct Foreign {
  std::string_view first_bytes;
  std::string_view name;
};
constexpr std::array kForeign = {Foreign{"BZh"sv, "bzip2"}, Foreign{"\xFD\x37zXZ\0"sv, "xz"},
                                 Foreign{"PK\x03\x04"sv, "zip"}};

constexpr size_t kFirstBytesMax = 6;

Result<std::unique_ptr<Decoder>> decoder_for(std::string_view bytes) {
  if (bytes.starts_with("\x1F\x8B"sv)) return std::make_unique<GzipDecoder>();
  if (bytes.starts_with("\x28\xB5\x2F\xFD"sv)) return std::make_unique<ZstdDecoder>();
  // A frame to be skipped, as parallel compressors put in front: 0x184D2A50 to 0x184D2A5F.
  if (bytes.size() >= 4 && (static_cast<uint8_t>(bytes[0]) & 0xF0) == 0x50 &&
      bytes.substr(1).starts_with("\x2A\x4D\x18"sv)) {
    return std::make_unique<ZstdDecoder>();
  }
  for (const Foreign& foreign : kForeign) {
    if (bytes.starts_with(foreign.first_bytes)) {
      return Error{
          ErrorKind::kInvalid,
          fmt::format("the file is compressed with {}; plain text, gzip and zstd are read, so "
                      "unpack it first",
                      foreign.name)};
    }
  }
  return std::make_unique<PlainDecoder>();
}

class Decompressed final : public ByteSource {
 public:
  explicit Decompressed(std::unique_ptr<ByteSource> packed) : packed_(std::move(packed)) {}

  Result<size_t> read(char* buffer, size_t size) override {
    if (decoder_ == nullptr) {
      while (packed_.bytes().size() < kFirstBytesMax) {
        const auto more = packed_.fill();
        if (!more) return more.error();
        if (!*more) break;
      }
      auto decoder = decoder_for(packed_.bytes());
      if (!decoder) return decoder.error();
      decoder_ = *std::move(decoder);
    }
    return decoder_->read(packed_, buffer, size);
  }

  void interrupt() override { packed_.interrupt(); }

 private:
  PackedBytes packed_;
  std::unique_ptr<Decoder> decoder_;
};

}  // namespace

std::unique_ptr<ByteSource> decompressed(std::unique_ptr<ByteSource> packed) {
  return std::make_unique<Decompressed>(std::move(packed));
}

}  // namespace windrow::batch
