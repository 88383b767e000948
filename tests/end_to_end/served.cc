#include "end_to_end/served.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <charconv>
#include <sstream>

namespace windrow::end_to_end {
namespace {

constexpr int kDeadlineMs = 60'000;

// The text of a chunked body.
std::string put_together(std::string_view chunks) {
  std::string body;
  while (!chunks.empty()) {
    const size_t line = chunks.find("\r\n");
    if (line == std::string_view::npos) break;
    size_t size = 0;
    std::from_chars(chunks.data(), chunks.data() + line, size, 16);
    if (size == 0 || chunks.size() < line + 2 + size) break;
    body += chunks.substr(line + 2, size);
    chunks.remove_prefix(std::min(chunks.size(), line + 2 + size + 2));
  }
  return body;
}

}  // namespace

HttpCall::HttpCall(uint16_t port, std::string_view method, std::string_view path,
                   std::string_view body, std::string_view key, std::string_view headers)
    : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) return;
  const std::string authorization =
      key.empty() ? "" : fmt::format("Authorization: Bearer {}\r\n", key);
  const std::string type = headers.find("Content-Type:") != std::string_view::npos
                               ? ""
                               : "Content-Type: application/json\r\n";
  const std::string length = headers.find("Content-Length:") != std::string_view::npos
                                 ? ""
                                 : fmt::format("Content-Length: {}\r\n", body.size());
  const std::string text =
      fmt::format("{} {} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{}{}{}{}\r\n{}",
                  method, path, type, authorization, headers, length, body);
  std::string_view left = text;
  while (!left.empty()) {
    const ssize_t sent = send(fd_, left.data(), left.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;
    left.remove_prefix(static_cast<size_t>(sent));
  }
}

HttpCall::~HttpCall() {
  close(fd_);
}

bool HttpCall::read_more() {
  pollfd ready{fd_, POLLIN, 0};
  if (poll(&ready, 1, kDeadlineMs) <= 0) {
    ADD_FAILURE() << "the server says nothing any more; so far:\n" << bytes_;
    return false;
  }
  std::array<char, 16'384> buffer{};
  const ssize_t size = recv(fd_, buffer.data(), buffer.size(), 0);
  if (size <= 0) return false;
  bytes_.append(buffer.data(), static_cast<size_t>(size));
  return true;
}

bool HttpCall::wait_for(std::string_view text) {
  while (bytes_.find(text) == std::string::npos) {
    if (!read_more()) return false;
  }
  return true;
}

HttpReply HttpCall::rest() {
  while (read_more()) {
  }
  shutdown(fd_, SHUT_RDWR);  // so that the server need not wait for this end of it
  HttpReply reply;
  const size_t end = bytes_.find("\r\n\r\n");
  if (end == std::string::npos) return reply;
  reply.head = bytes_.substr(0, end);
  std::from_chars(bytes_.data() + 9, bytes_.data() + 12, reply.status);
  reply.body = bytes_.substr(end + 4);
  if (reply.head.find("chunked") != std::string::npos) reply.body = put_together(reply.body);
  return reply;
}

Served::Served(const JobFolder& folder, const Words& words, std::string_view listen,
               std::optional<uint64_t> files_max) {
  Words all = {"serve", "--listen", std::string(listen)};
  all.insert(all.end(), words.begin(), words.end());
  Command command = folder.command(all);
  command.files_max = files_max;
  process_ = std::make_unique<Process>(command);
  if (!process_->wait_for_errors("listening on ")) return;
  process_->wait_for_errors("\n");
  const std::string& said = process_->errors();
  const size_t place = said.find("listening on ");
  const size_t colon = said.rfind(':', said.find('\n', place));
  std::from_chars(said.data() + colon + 1, said.data() + said.size(), port_);
}

bool Served::wait_until_ready() {
  return process_->wait_for_errors("ready after");
}

HttpReply Served::get(std::string_view path, std::string_view key) const {
  return HttpCall(port_, "GET", path, "", key).rest();
}

HttpReply Served::post(std::string_view path, std::string_view body, std::string_view key) const {
  return HttpCall(port_, "POST", path, body, key).rest();
}

HttpReply Served::del(std::string_view path, std::string_view key) const {
  return HttpCall(port_, "DELETE", path, "", key).rest();
}

HttpReply Served::upload(std::string_view name, std::string_view bytes,
                         std::string_view key) const {
  const std::string form = fmt::format(
      "--line\r\nContent-Disposition: form-data; name=\"purpose\"\r\n\r\nbatch\r\n"
      "--line\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{}\"\r\n"
      "Content-Type: application/jsonl\r\n\r\n{}\r\n--line--\r\n",
      name, bytes);
  return HttpCall(port_, "POST", "/v1/files", form, key,
                  "Content-Type: multipart/form-data; boundary=line\r\n")
      .rest();
}

size_t inside(const Served& served, std::string_view key) {
  const HttpReply reply = served.get("/v1/windrow/requests", key);
  return boost::json::parse(reply.body).at("data").as_array().size();
}

std::string metric(const Served& served, std::string_view family, std::string_view key) {
  std::string lines;
  std::istringstream page(served.get("/metrics", key).body);
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with(family)) lines += line + "\n";
  }
  return lines;
}

std::string chat_body(std::string_view content, std::string_view members) {
  return fmt::format(R"({{"model":"sim","messages":[{{"role":"user","content":"{}"}}]{}{}}})",
                     content, members.empty() ? "" : ",", members);
}

}  // namespace windrow::end_to_end
