// ModelSource: a model that is not a file here yet, as people name it, and where it goes. Pure.
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
  std::string text;    // for people: as it was written, without a query, which may have a key
  http::Url url;       // of the file
  std::string folder;  // below the store's: those of one model lie together
  std::string file;    // its name there, one that every file system takes
  std::string sha256;  // what it must be, in small hexadecimal digits; empty: not stated

  // Of the hub: its repository, for messages, and whether a token for it may be shown.
  bool of_hub = false;
  std::string repository;  // "owner/repo"
  std::string revision;    // "main"

  friend bool operator==(const ModelSource&, const ModelSource&) = default;
};

// What is to be fetched for `text`: one file, or all parts of a model that is split into
// NAME-00001-of-0000N.gguf, whichever of them was named; the first comes first. kInvalid with what
// to write instead. Plain http:// is for this machine, or for a file whose hash is stated: else
// anybody on the way could put another in its place.
Result<std::vector<ModelSource>> parse_source(std::string_view text, const http::Url& hub);

// The names of all parts, when `file` is the name of one of several; empty for a whole model.
std::vector<std::string> parts_of(std::string_view file);

}  // namespace windrow::model_store
