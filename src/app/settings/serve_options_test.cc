#include "app/settings/serve_options.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "store/posix_disk.h"

namespace windrow::app {
namespace {

TEST(ListenAddress, HostsAndPorts) {
  const auto host_of = [](std::string_view text) { return parse_listen(text)->host; };
  EXPECT_EQ(*parse_listen("127.0.0.1:8080"), (ListenAddress{"127.0.0.1", 8080}));
  EXPECT_EQ(*parse_listen("[::1]:8080"), (ListenAddress{"::1", 8080}));
  EXPECT_EQ(*parse_listen("localhost:0"), (ListenAddress{"localhost", 0}));
  EXPECT_EQ(host_of("[fe80::1%eth0]:1"), "fe80::1%eth0");
  EXPECT_EQ(parse_listen("0.0.0.0:65535")->port, 65535);
  EXPECT_EQ(host_of("server-1.example.com:80"), "server-1.example.com");
  // A port alone is of this machine.
  EXPECT_EQ(*parse_listen("18703"), (ListenAddress{"127.0.0.1", 18703}));
  EXPECT_EQ(*parse_listen(":18703"), (ListenAddress{"127.0.0.1", 18703}));
}

TEST(ListenAddress, WhatIsNoneIsRefusedWithTheForm) {
  const auto why = [](std::string_view text) {
    const Result<ListenAddress> parsed = parse_listen(text);
    return parsed ? "accepted" : parsed.error().message;
  };
  const std::string form = "; write HOST:PORT, as in 127.0.0.1:8080 or [::1]:8080, or a port alone";
  EXPECT_EQ(why("localhost"), "there is no port" + form);
  EXPECT_EQ(why(""), "there is no port" + form);
  EXPECT_EQ(why("80800"), "\"80800\" is not a port from 0 to 65535" + form);
  for (const std::string host : {"300.1.1.1", "127.1", "1.2.3.4.5", "1..2.3"}) {
    EXPECT_EQ(why(host + ":5"), "\"" + host +
                                    "\" is not an IPv4 address, which is four numbers from 0 to "
                                    "255" +
                                    form);
  }
  EXPECT_EQ(why("[::1::2]:5"), "\"::1::2\" is not an IPv6 address" + form);
  EXPECT_EQ(why("::1:8080"), "an address with colons stands in brackets" + form);
  EXPECT_EQ(why("[localhost]:1"), "brackets are for addresses with colons" + form);
  EXPECT_EQ(why("a:"), "\"\" is not a port from 0 to 65535" + form);
  EXPECT_EQ(why("a:65536"), "\"65536\" is not a port from 0 to 65535" + form);
  EXPECT_EQ(why("a:-1"), "\"-1\" is not a port from 0 to 65535" + form);
  EXPECT_EQ(why("a:1x"), "\"1x\" is not a port from 0 to 65535" + form);
  EXPECT_EQ(why("http://a:1"), "an address with colons stands in brackets" + form);
  EXPECT_EQ(why("a/b:1"), "\"a/b\" is not an address" + form);
}

TEST(ListenAddress, OnlyTheMachineItselfReachesLoopback) {
  for (const char* host : {"127.0.0.1", "127.255.0.3", "::1", "localhost", "::ffff:127.0.0.1"})
    EXPECT_TRUE(is_loopback(host)) << host;
  // A name may mean anything; what is not known to be safe is not.
  for (const char* host : {"0.0.0.0", "::", "128.0.0.1", "10.0.0.127", "::2", "::ffff:10.0.0.1",
                           "localhost.example.com", "127.1", "0x7f.0.0.1", ""})
    EXPECT_FALSE(is_loopback(host)) << host;
}

TEST(ListenAddress, ClientsOfThisMachineAreToldWhereToGo) {
  EXPECT_EQ(local_url({"127.0.0.1", 80}, false), "http://127.0.0.1:80");
  EXPECT_EQ(local_url({"::1", 8443}, true), "https://[::1]:8443");
  EXPECT_EQ(local_url({"0.0.0.0", 1}, false), "http://127.0.0.1:1");
  EXPECT_EQ(local_url({"::", 1}, false), "http://[::1]:1");
}

std::string why(const Settings& settings) {
  const Result<ServeOptions> options = serve_options(settings);
  return options ? "accepted" : options.error().message;
}

TEST(ServeOptions, OtherMachinesNeedAKey) {
  EXPECT_EQ(why({}), "accepted");
  EXPECT_EQ(why({.listen = "[::1]:0"}), "accepted");
  EXPECT_EQ(
      why({.listen = "0.0.0.0:8080"}),
      "--listen 0.0.0.0:8080 can be reached by other machines, and requests would need no key; "
      "make one with `windrow keys add keys.txt NAME` and add --api-keys keys.txt "
      "(--insecure-no-keys does without)");
  EXPECT_EQ(why({.listen = "0.0.0.0:8080", .api_keys = "keys.txt"}), "accepted");
  EXPECT_EQ(why({.listen = "0.0.0.0:8080", .insecure_no_keys = true}), "accepted");
  EXPECT_EQ(why({.api_keys = "keys.txt", .insecure_no_keys = true}),
            "--insecure-no-keys and --api-keys contradict each other; leave one out");
}

TEST(ServeOptions, WhatBelongsTogetherIsGivenTogether) {
  EXPECT_EQ(why({.tls_cert = "c.pem"}),
            "--tls-cert needs --tls-key: a certificate and its key belong together");
  EXPECT_EQ(why({.tls_key = "k.pem"}),
            "--tls-key needs --tls-cert: a certificate and its key belong together");
  EXPECT_EQ(why({.tls_cert = "c.pem", .tls_key = "k.pem"}), "accepted");
  EXPECT_EQ(why({.log_prompts = true}),
            "--log-prompts needs --log: there is no log to write them to");
  EXPECT_EQ(why({.log = "-", .log_prompts = true}), "accepted");
}

TEST(ServeOptions, AliasesAreFurtherNamesOfModels) {
  const auto aliases = [](std::vector<std::string> texts) {
    const auto made = local_aliases({.model_aliases = std::move(texts)}, {"chat", "embed"});
    if (!made) return made.error().message;
    std::string text;
    for (const auto& [name, model] : *made)
      text += name + ">" + model + " ";
    return text;
  };
  EXPECT_EQ(aliases({"gpt-4o=chat", "gpt-4=chat", "ada=embed"}),
            "ada>embed gpt-4>chat gpt-4o>chat ");
  EXPECT_EQ(aliases({"gpt-4o"}),
            "--model-alias gpt-4o: write NAME=MODEL, a further name of a model");
  EXPECT_EQ(aliases({"a=b"}), "--model-alias a=b: no model has the name b; there is chat, embed");
  EXPECT_EQ(aliases({"chat=embed"}), "--model-alias chat=embed: a model has the name chat already");
  EXPECT_EQ(aliases({"a=chat", "a=embed"}), "--model-alias a=embed: a stands for chat already");
}

TEST(ServeOptions, ADataFolderIsOfOneServerAtATime) {
  const std::filesystem::path folder =
      std::filesystem::path(::testing::TempDir()) / "serve_options" / "data";
  std::filesystem::remove_all(folder.parent_path());
  store::PosixDisk disk;
  const Settings settings{.data_dir = folder.string()};
  {
    const auto held = hold_data_dir(settings, disk);
    ASSERT_TRUE(held.has_value()) << held.error().message;
    EXPECT_TRUE(std::filesystem::is_directory(folder));
    const auto again = hold_data_dir(settings, disk);
    ASSERT_FALSE(again.has_value());
    EXPECT_EQ(again.error().kind, ErrorKind::kConflict);
  }
  EXPECT_TRUE(hold_data_dir(settings, disk).has_value());
  EXPECT_EQ(hold_data_dir({}, disk)->get(), nullptr);
  const auto in_a_file = hold_data_dir({.data_dir = (folder / "server.lock" / "x").string()}, disk);
  EXPECT_FALSE(in_a_file.has_value());
  std::filesystem::remove_all(folder.parent_path());
}

}  // namespace
}  // namespace windrow::app
