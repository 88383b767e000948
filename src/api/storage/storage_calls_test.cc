#include "api/storage/storage_calls.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/testing/server_rig.h"
#include "base/crypto.h"
#include "base/random.h"
#include "base/testing/eventually.h"
#include "store/posix_disk.h"
#include "store/testing/faulty_disk.h"
#include "store/testing/temporary_folder.h"

namespace windrow::api {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using http::testing::RawClient;
using testing::get;
using testing::post;
using testing::read_reply;
using testing::Reply;
using testing::ServerRig;

// What a server keeps, in a folder of its own. Batches are not started: they wait.
struct Kept {
  explicit Kept(batches::FileLimits limits = {.file_bytes_max = 4 << 20},
                const store::testing::Faults& faults = {})
      : disk(real, faults) {
    std::vector<std::string> warnings;
    data = *batches::DataDir::open(folder.path(), warnings);
    files = *batches::FileStore::open(*data, disk, clock, limits);
    service = *batches::BatchService::open(*data, *files, disk, clock,
                                           {.warn = [](const std::string&) {}});
  }

  ApiOptions options(int32_t transfers_max = 128) const {
    ApiOptions options;
    options.parts = {storage_part({files.get(), service.get(), transfers_max})};
    options.http.request.body_bytes_max = 100'000;  // files are not bound by it
    return options;
  }

  // Whether nothing lies in the folder of files, after a while.
  bool becomes_empty() const {
    return windrow::testing::eventually(
        [&] { return fs::is_empty(folder / "files") && files->totals().bytes == 0; });
  }

  const SystemClock clock;
  const store::testing::TemporaryFolder folder;
  store::PosixDisk real;
  store::testing::FaultyDisk disk;
  std::unique_ptr<batches::DataDir> data;
  std::unique_ptr<batches::FileStore> files;
  std::unique_ptr<batches::BatchService> service;
};

std::string part(std::string_view name, std::string_view bytes, std::string_view more = "") {
  return fmt::format("--b\r\nContent-Disposition: form-data; name=\"{}\"{}\r\n\r\n{}\r\n", name,
                     more, bytes);
}

std::string upload(std::string_view form) {
  return post("/v1/files", fmt::format("{}--b--\r\n", form),
              "Content-Type: multipart/form-data; boundary=b\r\n");
}

std::string file_form(std::string_view bytes) {
  return part("purpose", "batch") + part("file", bytes, "; filename=\"in.jsonl\"");
}

std::string id_of(const Reply& reply) {
  EXPECT_EQ(reply.status, 200) << reply.body;
  return std::string(reply.json().at("id").as_string());
}

std::string code_of(const Reply& reply) {
  return std::string(reply.error().at("code").as_string());
}

std::string param_of(const Reply& reply) {
  const json::value error = reply.error();
  return error.at("param").is_null() ? "" : std::string(error.at("param").as_string());
}

TEST(StorageCalls, AFileGoesInAndComesOut) {
  const Kept kept;
  ServerRig rig(kept.options());
  const Reply made = rig.ask(upload(file_form("some\r\nbytes")));
  const std::string id = id_of(made);
  EXPECT_EQ(made.json().at("object"), "file");
  EXPECT_EQ(made.json().at("bytes"), 11);
  EXPECT_EQ(made.json().at("filename"), "in.jsonl");
  EXPECT_TRUE(made.json().at("expires_at").is_null());
  EXPECT_NE(made.header("X-Request-Id"), "");
  EXPECT_EQ(rig.ask(get("/v1/files/" + id)).json(), made.json());

  const json::value list = rig.ask(get("/v1/files?limit=1&order=asc")).json();
  EXPECT_EQ(list.at("data").as_array().size(), 1U);
  EXPECT_EQ(list.at("data").at(0), made.json());
  EXPECT_EQ(list.at("has_more"), false);
  EXPECT_EQ(list.at("first_id"), list.at("last_id"));

  const Reply content = rig.ask(get("/v1/files/" + id + "/content"));
  EXPECT_EQ(content.status, 200);
  EXPECT_EQ(content.body, "some\r\nbytes");
  EXPECT_EQ(content.header("Content-Type"), "application/octet-stream");
  EXPECT_EQ(content.header("Content-Length"), "11");

  RawClient client(rig.server->port());
  client.send(fmt::format(
      "HEAD /v1/files/{}/content HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", id));
  const std::string head = client.read_all();
  EXPECT_NE(head.find("Content-Length: 11\r\n"), std::string::npos);
  EXPECT_TRUE(head.ends_with("\r\n\r\n"));

  const Reply deleted = rig.ask(fmt::format("DELETE /v1/files/{} HTTP/1.1\r\nHost: x\r\n\r\n", id));
  EXPECT_EQ(deleted.json(),
            json::parse(fmt::format(R"({{"id":"{}","object":"file","deleted":true}})", id)));
  EXPECT_EQ(code_of(rig.ask(get("/v1/files/" + id))), "file_not_found");
  EXPECT_EQ(rig.ask(get("/v1/files/" + id + "/content")).status, 404);
}

TEST(StorageCalls, APartOfAFile) {
  const Kept kept;
  ServerRig rig(kept.options());
  const std::string id = id_of(rig.ask(upload(file_form("0123456789"))));
  const auto range = [&](std::string_view what) {
    return rig.ask(
        fmt::format("GET /v1/files/{}/content HTTP/1.1\r\nHost: x\r\nRange: {}\r\n\r\n", id, what));
  };
  Reply part = range("bytes=2-4");
  EXPECT_EQ(part.status, 206);
  EXPECT_EQ(part.body, "234");
  EXPECT_EQ(part.header("Content-Range"), "bytes 2-4/10");
  EXPECT_EQ(range("bytes=-3").body, "789");
  part = range("bytes=10-");
  EXPECT_EQ(part.status, 416);
  EXPECT_EQ(part.header("Content-Range"), "bytes */10");
  EXPECT_EQ(range("bytes=0-1,4-5").status, 200);
}

// Larger than what lies in memory at a time, and read slower than it is sent.
TEST(StorageCalls, ALargeFileComesPieceByPiece) {
  const Kept kept;
  ServerRig rig(kept.options());
  std::string bytes;
  while (bytes.size() < (size_t{3} << 20))
    bytes += fmt::format("line {}\n", bytes.size());
  const std::string id = id_of(rig.ask(upload(file_form(bytes))));
  const Reply whole = rig.ask(get("/v1/files/" + id + "/content"));
  EXPECT_EQ(whole.body.size(), bytes.size());
  EXPECT_TRUE(whole.body == bytes);  // as texts of many lines their difference would fill memory
  // One who leaves in the middle takes nothing along.
  {
    RawClient client(rig.server->port());
    client.send(get("/v1/files/" + id + "/content"));
  }
  EXPECT_EQ(rig.ask(get("/v1/files/" + id)).status, 200);
}

std::string upload_head(size_t bytes, std::string_view more = "") {
  return fmt::format(
      "POST /v1/files HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=b\r\n"
      "{}Content-Length: {}\r\n\r\n",
      more, bytes);
}

// Its parts in any order, the bytes in any pieces.
TEST(StorageCalls, AFormComesInAnyPieces) {
  const Kept kept;
  ServerRig rig(kept.options());
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random random(seed);
    std::string bytes;
    for (size_t n = random.below(20'000); bytes.size() <= n;)
      bytes += random.chance(0.2) ? "\r\n--" : fmt::format("{}", random.next());
    std::vector<std::string> parts = {
        part("purpose", "batch"), part("file", bytes, "; filename=\"in.jsonl\""),
        part("expires_after[anchor]", "created_at"), part("expires_after[seconds]", "3600")};
    std::string form;
    while (!parts.empty()) {
      const auto next = parts.begin() + static_cast<ptrdiff_t>(random.below(parts.size()));
      form += *next;
      parts.erase(next);
    }
    form += "--b--\r\n";
    RawClient client(rig.server->port());
    client.send(
        "POST /v1/files HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=b\r\n"
        "Transfer-Encoding: chunked\r\n\r\n");
    for (size_t at = 0; at < form.size();) {
      const std::string chunk = form.substr(at, 1 + random.below(random.chance(0.5) ? 9 : 9'000));
      client.send(fmt::format("{:x}\r\n{}\r\n", chunk.size(), chunk));
      at += chunk.size();
    }
    client.send("0\r\n\r\n");
    const std::string id = id_of(read_reply(client));
    EXPECT_TRUE(rig.ask(get("/v1/files/" + id + "/content")).body == bytes);
  }
}

TEST(StorageCalls, AnUploadWhoseClientLeavesLeavesNothing) {
  const Kept kept;
  ServerRig rig(kept.options());
  const std::string form = file_form(std::string(1'000'000, 'x'));
  {
    RawClient client(rig.server->port());
    client.send(upload_head(form.size() + 7) + form);
    // Not closed yet: it may have more to say.
    windrow::testing::eventually([&] { return kept.files->totals().bytes; },
                                 ::testing::Ge(900'000));
    EXPECT_FALSE(fs::is_empty(kept.folder / "files"));
  }
  EXPECT_TRUE(kept.becomes_empty());
  EXPECT_EQ(rig.ask(get("/v1/files")).json().at("data").as_array().size(), 0U);
}

TEST(StorageCalls, AFullDiskInTheMiddleIsSaidAndLeavesNothing) {
  Kept kept({.file_bytes_max = 4 << 20}, {.bytes_until_full = 500'000});
  ServerRig rig(kept.options());
  const std::string bytes(2'000'000, 'x');
  RawClient client(rig.server->port());
  EXPECT_TRUE(client.send(upload(file_form(bytes))));
  const Reply full = read_reply(client);
  EXPECT_EQ(full.status, 507);
  EXPECT_EQ(code_of(full), "disk_full");
  EXPECT_TRUE(kept.becomes_empty());
  // The rest goes on, and files too when there is room.
  EXPECT_EQ(rig.ask(get("/v1/files")).status, 200);
  EXPECT_EQ(rig.ask(get("/health")).status, 200);
  kept.disk.set_faults({});
  const std::string id = id_of(rig.ask(upload(file_form(bytes))));
  EXPECT_TRUE(rig.ask(get("/v1/files/" + id + "/content")).body == bytes);
}

// Refused before a byte of them has come.
TEST(StorageCalls, AFileThatIsRefusedIsNotUploaded) {
  const Kept kept({.file_bytes_max = 4 << 20, .total_bytes_max = 8 << 20});
  ApiOptions options = kept.options();
  Sha256 hash;
  hash.add("wr-alice");
  options.keys = std::make_shared<KeyRingHolder>(
      *KeyRing::parse(fmt::format("alice sha256:{}", hash.finish()), "keys"));
  ServerRig rig(std::move(options));
  const auto answer_to = [&](size_t bytes, std::string_view more) {
    RawClient client(rig.server->port());
    client.send(upload_head(bytes, more));
    const Reply reply = read_reply(client);
    EXPECT_EQ(reply.header("Connection"), "close");
    return reply;
  };
  constexpr std::string_view kAlice = "Authorization: Bearer wr-alice\r\n";
  EXPECT_EQ(answer_to(100'000, "").status, 401);
  EXPECT_EQ(answer_to(100'000, "Expect: 100-continue\r\n").status, 401);
  EXPECT_EQ(code_of(answer_to(6 << 20, kAlice)), "file_too_large");
  EXPECT_EQ(code_of(answer_to(size_t{1} << 40, kAlice)), "file_too_large");
  for (int i = 0; i < 2; ++i) {
    const std::string form = file_form(std::string(4 << 20, 'x')) + "--b--\r\n";
    RawClient client(rig.server->port());
    client.send(upload_head(form.size(), kAlice) + form);
    EXPECT_EQ(read_reply(client).status, 200);
  }
  EXPECT_EQ(code_of(answer_to((1 << 20) + 10'000, kAlice)), "storage_full");

  // Bodies that lie in memory are not awaited either.
  RawClient chat(rig.server->port());
  chat.send("POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 99999\r\n\r\n");
  EXPECT_EQ(read_reply(chat).status, 401);
}

TEST(StorageCalls, FormsThatCannotBe) {
  const Kept kept({.file_bytes_max = 1000});
  ServerRig rig(kept.options());
  EXPECT_EQ(param_of(rig.ask(post("/v1/files", "{}"))), "Content-Type");
  EXPECT_EQ(param_of(rig.ask(upload(part("purpose", "batch")))), "file");
  EXPECT_EQ(param_of(rig.ask(upload(part("file", "x")))), "purpose");
  EXPECT_EQ(param_of(rig.ask(upload(part("purpose", "fine-tune") + part("file", "x")))), "purpose");
  EXPECT_EQ(param_of(rig.ask(upload(file_form("x") + part("colour", "red")))), "colour");
  EXPECT_EQ(param_of(rig.ask(upload(file_form("x") + part("file", "y")))), "file");
  EXPECT_EQ(param_of(rig.ask(upload(file_form("x") + part("expires_after[anchor]", "now")))),
            "expires_after.anchor");
  EXPECT_EQ(rig.ask(post("/v1/files", file_form("x"),
                         "Content-Type: multipart/form-data; boundary=b\r\n"))
                .status,
            400);  // it is not closed
  const Reply large = rig.ask(upload(file_form(std::string(1001, 'x'))));
  EXPECT_EQ(large.status, 413);
  EXPECT_EQ(code_of(large), "file_too_large");
  EXPECT_EQ(rig.ask(get("/v1/files")).json().at("data").as_array().size(), 0U);
  EXPECT_EQ(kept.files->totals().bytes, 0);

  const Reply kept_for = rig.ask(upload(part("expires_after[seconds]", "3600") + file_form("x") +
                                        part("expires_after[anchor]", "created_at")));
  EXPECT_EQ(kept_for.json().at("expires_at").as_int64(),
            kept_for.json().at("created_at").as_int64() + 3600);
}

TEST(StorageCalls, SoManyFilesAreOnTheirWayAndOthersAreToldToComeAgain) {
  const Kept kept;
  ServerRig rig(kept.options(2));
  const std::string id = id_of(rig.ask(upload(file_form("{}\n"))));
  const std::string whole = upload(file_form(std::string(1000, 'x')));
  auto first = std::make_unique<RawClient>(rig.server->port());
  auto second = std::make_unique<RawClient>(rig.server->port());
  first->send(whole.substr(0, whole.size() - 500));
  second->send(whole.substr(0, whole.size() - 500));
  // They are heard in any order, and one that has its answer may be on its way out.
  const std::string fetch = get("/v1/files/" + id + "/content");
  const auto ask_until = [&](int status, const std::string& request) {
    const TimePoint late = kept.clock.now() + std::chrono::seconds(20);
    Reply reply = rig.ask(request);
    while (reply.status != status && kept.clock.now() < late)
      reply = rig.ask(request);
    EXPECT_EQ(reply.status, status);
    return reply;
  };
  const Reply refused = ask_until(503, fetch);
  EXPECT_EQ(code_of(refused), "too_many_transfers");
  EXPECT_EQ(refused.header("Retry-After"), "2");
  ask_until(503, upload(file_form("x")));
  EXPECT_EQ(rig.ask(get("/v1/files")).status, 200) << "that needs no file";
  first.reset();
  EXPECT_EQ(ask_until(200, fetch).body, "{}\n");
}

TEST(StorageCalls, QuestionsThatCannotBe) {
  const Kept kept;
  ServerRig rig(kept.options());
  for (const auto& [path, param] :
       std::vector<std::pair<std::string, std::string>>{{"/v1/files?limit=0", "limit"},
                                                        {"/v1/files?limit=x", "limit"},
                                                        {"/v1/files?order=up", "order"},
                                                        {"/v1/files?after=file-1", "after"},
                                                        {"/v1/files?colour=red", "colour"},
                                                        {"/v1/batches?limit=101", "limit"},
                                                        {"/v1/batches?after=batch_1", "after"},
                                                        {"/v1/batches?order=asc", "order"}}) {
    const Reply reply = rig.ask(get(path));
    EXPECT_EQ(reply.status, 400) << path;
    EXPECT_EQ(param_of(reply), param) << path;
  }
}

TEST(StorageCalls, ABatchIsMadeLookedAtListedAndCancelled) {
  const Kept kept;
  ServerRig rig(kept.options());
  const std::string file = id_of(rig.ask(upload(file_form("{}\n"))));
  const std::string body = fmt::format(
      R"({{"input_file_id":"{}","endpoint":"/v1/chat/completions","completion_window":"24h",)"
      R"("metadata":{{"a":"b"}}}})",
      file);
  const Reply made = rig.ask(post("/v1/batches", body, "Idempotency-Key: one\r\n"));
  const std::string id = id_of(made);
  EXPECT_EQ(made.json().at("object"), "batch");
  EXPECT_EQ(made.json().at("status"), "validating");
  EXPECT_EQ(made.json().at("metadata"), json::parse(R"({"a":"b"})"));
  EXPECT_EQ(id_of(rig.ask(post("/v1/batches", body, "Idempotency-Key: one\r\n"))), id);
  EXPECT_EQ(id_of(rig.ask(get("/v1/batches/" + id))), id);
  const json::value list = rig.ask(get("/v1/batches")).json();
  EXPECT_EQ(list.at("data").as_array().size(), 1U);
  EXPECT_EQ(list.at("first_id").as_string(), id);
  EXPECT_EQ(rig.ask(post("/v1/batches/" + id + "/cancel", "")).json().at("status"), "cancelling");
  EXPECT_EQ(rig.ask(get("/v1/batches/batch_1")).status, 404);

  EXPECT_EQ(code_of(rig.ask(post("/v1/batches", "{"))), "invalid_json");
  EXPECT_EQ(code_of(rig.ask(post("/v1/batches", "[]"))), "invalid_json");
  EXPECT_EQ(param_of(rig.ask(post("/v1/batches", "{}"))), "input_file_id");
  EXPECT_EQ(code_of(rig.ask(
                post("/v1/batches", R"({"input_file_id":"file-1","endpoint":"/v1/embeddings"})"))),
            "file_not_found");
}

TEST(StorageCalls, WithoutAFolderTheySayWhatToDo) {
  ServerRig rig({.parts = {storage_part({})}});
  for (const std::string& request :
       {get("/v1/files"), get("/v1/files/a"), get("/v1/files/a/content"), get("/v1/batches"),
        get("/v1/batches/a"), post("/v1/files", ""), post("/v1/batches", "{}"),
        post("/v1/batches/a/cancel", "")}) {
    const Reply reply = rig.ask(request);
    EXPECT_EQ(reply.status, 501);
    EXPECT_EQ(code_of(reply), "no_data_dir");
  }
}

TEST(StorageCalls, AServerThatStopsWaitsForWhatIsInside) {
  const Kept kept;
  const std::string bytes(size_t{3} << 20, 'x');
  for (int round = 0; round < 2; ++round) {
    ServerRig rig(kept.options());
    const std::string id = id_of(rig.ask(upload(file_form(bytes))));
    RawClient client(rig.server->port());
    client.send(get("/v1/files/" + id + "/content"));
    rig.server->stop(Duration{});
  }
  EXPECT_EQ(kept.files->totals().files, 2);
}

}  // namespace
}  // namespace windrow::api
