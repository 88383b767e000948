#include "batch/row_dialect.h"

#include <fmt/format.h>

#include <algorithm>

#include "llm/request_json.h"

namespace windrow::batch {

const RowApi* find_api(const RowApis& apis, std::string_view url) {
  const auto found = std::ranges::find_if(apis, [&](const auto& api) { return api->url() == url; });
  return found == apis.end() ? nullptr : found->get();
}

std::string row_urls(const RowApis& apis) {
  std::string urls;
  for (const auto& api : apis)
    urls += fmt::format("{}, ", api->url());
  return urls + llm::endpoint_urls();
}

}  // namespace windrow::batch
