#include "http/client.h"

namespace windrow::http {

std::string_view to_string(Method method) {
  switch (method) {
    case Method::kGet:
      return "GET";
    case Method::kHead:
      return "HEAD";
    case Method::kPost:
      return "POST";
    case Method::kPut:
      return "PUT";
    case Method::kPatch:
      return "PATCH";
    case Method::kDelete:
      return "DELETE";
  }
  return "GET";
}

std::string_view to_string(FailureKind kind) {
  switch (kind) {
    case FailureKind::kResolve:
      return "resolve";
    case FailureKind::kConnect:
      return "connect";
    case FailureKind::kFiles:
      return "files";
    case FailureKind::kTls:
      return "tls";
    case FailureKind::kProxy:
      return "proxy";
    case FailureKind::kTimeout:
      return "timeout";
    case FailureKind::kReset:
      return "reset";
    case FailureKind::kTooLarge:
      return "too large";
    case FailureKind::kProtocol:
      return "protocol";
    case FailureKind::kCancelled:
      return "cancelled";
  }
  return "unknown";
}

}  // namespace windrow::http
