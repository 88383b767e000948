#include "http/gunzip.h"

#include <fmt/format.h>
#include <zlib.h>

#include <limits>
#include <vector>

namespace windrow::http {
namespace {

constexpr size_t kUnpackedBlock = size_t{64} * 1024;

class Inflater {
 public:
  Inflater() : ready_(inflateInit2(&stream_, MAX_WBITS + 16) == Z_OK) {}
  ~Inflater() {
    if (ready_) inflateEnd(&stream_);
  }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  bool ready() const { return ready_; }
  z_stream& stream() { return stream_; }

 private:
  z_stream stream_ = {};
  bool ready_;
};

Error not_gzip(std::string_view why) {
  return {ErrorKind::kInvalid, std::string(why)};
}

}  // namespace

Result<std::string> gunzip(std::string_view packed, size_t bytes_max) {
  std::string text;
  if (packed.empty()) return text;
  if (packed.size() > std::numeric_limits<uInt>::max())
    return Error{ErrorKind::kNoSpace, "it is too long even while it is packed"};
  Inflater inflater;
  if (!inflater.ready()) return Error{ErrorKind::kUnavailable, "zlib does not start"};
  z_stream& stream = inflater.stream();
  // zlib does not write there.
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  std::vector<char> block(kUnpackedBlock);
  while (true) {
    stream.next_out = reinterpret_cast<Bytef*>(block.data());
    stream.avail_out = static_cast<uInt>(block.size());
    const int status = inflate(&stream, Z_NO_FLUSH);
    if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR)
      return not_gzip(stream.msg != nullptr ? stream.msg : "zlib gives no reason");
    const size_t made = block.size() - stream.avail_out;
    if (made > bytes_max - text.size())
      return Error{ErrorKind::kNoSpace, fmt::format("it unpacks to more than {} bytes", bytes_max)};
    text.append(block.data(), made);
    if (status == Z_STREAM_END) {
      if (stream.avail_in == 0) return text;
      if (inflateReset(&stream) != Z_OK) return not_gzip("zlib does not go on");
    } else if (made == 0 && stream.avail_in == 0) {
      return not_gzip("it is cut off");
    }
  }
}

}  // namespace windrow::http
