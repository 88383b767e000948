// ModelSource: the address of a model to download, parsed, and its place in the cache. Pure.
//
//   hf:OWNER/REPO/FILE.gguf[@REVISION]    a file of a repository of the model hub
//   https://HOST/FILE.gguf[#sha256=HEX]   a file of any server
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "http/url.h"

namespace windrow::model_store {

// The hub that "hf:" means; the variable HF_ENDPOINT names a mirror.
constexpr std::string_view kDefaultHub = "https://huggingface.co";

// Whether a text names a model that must be fetched: it begins with hf:, https:// or http://.
bool is_remote(std::string_view text);

struct ModelSource {
  std::string text;    // for people: as written, without the query, which may contain a key
  http::Url url;       // the address of the file
  std::string folder;  // below the folder of the store; the same for all parts of a model
  std::string file;    // its name there, valid on every file system
  std::string sha256;  // the stated hash, in lower-case hexadecimal digits; empty: none

  // Whether it is a file of the hub, which may be sent the hub's token; and its repository.
  bool of_hub = false;
  std::string repository;  // "owner/repo"
  std::string revision;    // "main"

  friend bool operator==(const ModelSource&, const ModelSource&) = default;
};

// The files to download for `text`: one, or all parts of a model that is split into
// NAME-00001-of-0000N.gguf, in order, whichever of them was named. kInvalid, with what to write
// instead. Plain http:// is accepted only for this machine or with a stated hash, because the file
// could be replaced on the way.
Result<std::vector<ModelSource>> parse_source(std::string_view text, const http::Url& hub);

// The names of all parts, if `file` is the name of one of several parts; else empty.
std::vector<std::string> parts_of(std::string_view file);

}  // namespace windrow::model_store
