#include "http/proxy.h"

#include <gtest/gtest.h>

#include <map>

namespace windrow::http {
namespace {

ProxySettings read(const std::map<std::string, std::string>& variables) {
  return read_proxy_settings([&](const std::string& name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::string() : found->second;
  });
}

std::string chosen(const ProxySettings& settings, std::string_view url) {
  const std::optional<Proxy> proxy = choose_proxy(settings, parse_url(url).value());
  return proxy ? proxy->url + " by " + proxy->variable : "direct";
}

TEST(Proxy, EachSchemeHasItsVariable) {
  const ProxySettings settings = read({{"http_proxy", "a:1"}, {"HTTPS_PROXY", "http://b:2"}});
  EXPECT_EQ(chosen(settings, "http://h"), "http://a:1 by http_proxy");
  EXPECT_EQ(chosen(settings, "https://h"), "http://b:2 by HTTPS_PROXY");
  EXPECT_EQ(chosen(read({{"all_proxy", "c:3"}}), "http://h"), "http://c:3 by all_proxy");
  EXPECT_EQ(chosen(read({{"all_proxy", "c:3"}, {"https_proxy", "b"}}), "https://h"),
            "http://b by https_proxy");
  EXPECT_EQ(chosen(read({}), "http://h"), "direct");
  EXPECT_EQ(chosen(read({{"HTTP_PROXY", "a:1"}}), "http://h"), "direct");
}

TEST(Proxy, ThisMachineIsReachedDirectly) {
  const ProxySettings settings = read({{"http_proxy", "a:1"}});
  EXPECT_EQ(chosen(settings, "http://localhost:11434"), "direct");
  EXPECT_EQ(chosen(settings, "http://127.0.0.1:8000"), "direct");
  EXPECT_EQ(chosen(settings, "http://[::1]:8000"), "direct");
}

TEST(Proxy, NoProxyNamesHostsDomainsPortsAndNetworks) {
  const auto is_direct = [](const std::string& no_proxy, std::string_view url) {
    return chosen(read({{"http_proxy", "a:1"}, {"no_proxy", no_proxy}}), url) == "direct";
  };
  EXPECT_TRUE(is_direct("*", "http://h"));
  EXPECT_TRUE(is_direct("gpu2, GPU3", "http://gpu3:8000"));
  EXPECT_FALSE(is_direct("gpu2", "http://mygpu2"));
  EXPECT_TRUE(is_direct("lan", "http://gpu.lan"));
  EXPECT_TRUE(is_direct(".lan", "http://gpu.lan"));
  EXPECT_TRUE(is_direct("*.lan", "http://gpu.lan"));
  EXPECT_TRUE(is_direct("gpu:8000", "http://gpu:8000"));
  EXPECT_FALSE(is_direct("gpu:8000", "http://gpu:8001"));
  EXPECT_TRUE(is_direct("10.0.0.0/8", "http://10.9.8.7"));
  EXPECT_FALSE(is_direct("10.0.0.0/8", "http://11.9.8.7"));
  EXPECT_TRUE(is_direct("0.0.0.0/0", "http://11.9.8.7"));
  EXPECT_FALSE(is_direct("10.0.0.0/33", "http://10.9.8.7"));
  EXPECT_TRUE(is_direct("fd00::5", "http://[fd00::5]:80"));
  EXPECT_TRUE(is_direct("[fd00::5]:81", "http://[fd00::5]:81"));
  EXPECT_FALSE(is_direct("[fd00::5]:81", "http://[fd00::5]:80"));
  EXPECT_FALSE(is_direct("", "http://h"));
}

TEST(Proxy, ItsPasswordIsNotShown) {
  EXPECT_EQ((Proxy{.url = "http://me:p@ss@host:1/x@y"}.name()), "http://host:1/x@y");
  EXPECT_EQ((Proxy{.url = "socks5h://host:1"}.name()), "socks5h://host:1");
}

}  // namespace
}  // namespace windrow::http
