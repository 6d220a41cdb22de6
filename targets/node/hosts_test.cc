#include "targets/node/hosts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "checkers/history/json_schema.h"
#include "checkers/history/json_text.h"
#include "targets/node/agent/test_support.h"
#include "targets/node/shell_words.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class HostsFile : public testing::Test {
 protected:
  Result<std::vector<Host>> read(const std::string& text) {
    folder_.write("hosts.json", text);
    return read_hosts(folder_.path("hosts.json"));
  }
  agent::ScratchFolder folder_;
};

TEST_F(HostsFile, DefaultsAreForAllAndAHostsOwnWordsCountBeforeThem) {
  const auto hosts = read(R"({"format": "assay-hosts", "version": 1,
    "defaults": {"user": "db", "key": "id", "known_hosts": "known", "sudo": true, "env": {"A": "1"}, "port": 2222},
    "hosts": [{"address": "127.0.0.1"},
              {"name": "db2", "address": "127.0.0.2", "user": "root", "sudo": false, "port": 22,
               "key": ["a", "/b"], "ssh_address": "127.0.0.3", "env": {"B": "2"}, "cache": "/x"},
              {"address": "127.0.0.4", "via": ["kubectl", "exec", "-i", "db-3", "--"]}]})");
  ASSERT_TRUE(hosts.ok()) << hosts.error().message;
  ASSERT_EQ(hosts->size(), 3u);
  const Host& first = hosts->at(0);
  EXPECT_EQ(first.name + " " + first.address + " " + first.ssh_address + " " + first.user, "n1 127.0.0.1 127.0.0.1 db");
  EXPECT_EQ(first.port, 2222);
  EXPECT_TRUE(first.sudo);
  EXPECT_THAT(first.keys, ElementsAre(folder_.path("id"))) << "beside the file";
  EXPECT_EQ(first.known_hosts, folder_.path("known"));
  const Host& second = hosts->at(1);
  EXPECT_EQ(second.name + " " + second.ssh_address + " " + second.user + " " + second.cache, "db2 127.0.0.3 root /x");
  EXPECT_EQ(second.port, 22);
  EXPECT_FALSE(second.sudo);
  EXPECT_THAT(second.keys, ElementsAre(folder_.path("a"), "/b"));
  EXPECT_EQ(second.env.at("A") + second.env.at("B"), "12");
  EXPECT_EQ(hosts->at(2).name, "n3");
  EXPECT_EQ(hosts->at(2).via.size(), 5u);
}

TEST_F(HostsFile, AnAliasOfOpenSshIsAsked) {
  if (::access("/usr/bin/ssh", X_OK) != 0) GTEST_SKIP() << "ssh is missing (package openssh-client)";
  folder_.write("key", "");
  folder_.write("config", "Host db\n  HostName 127.0.0.7\n  Port 2200\n  User pg\n  IdentityFile " + folder_.path("key") +
                              "\n  UserKnownHostsFile " + folder_.path("known") +
                              "\nHost far\n  HostName 127.0.0.8\n  ProxyJump gate\n");
  const auto hosts = read(R"({"defaults": {"ssh_config": "config"}, "hosts": ["db", {"ssh": "db", "name": "two", "sudo": true}]})");
  ASSERT_TRUE(hosts.ok()) << hosts.error().message;
  const Host& db = hosts->at(0);
  EXPECT_EQ(db.name + " " + db.address + " " + db.user + " " + db.known_hosts, "db 127.0.0.7 pg " + folder_.path("known"));
  EXPECT_EQ(db.port, 2200);
  EXPECT_THAT(db.keys, ElementsAre(folder_.path("key")));
  EXPECT_EQ(hosts->at(1).name, "two");
  EXPECT_TRUE(hosts->at(1).sudo);
  const auto far = read(R"({"defaults": {"ssh_config": "config"}, "hosts": ["far"]})");
  ASSERT_FALSE(far.ok());
  EXPECT_THAT(far.error().message, HasSubstr("leads over another"));
  EXPECT_EQ(far.error().fault, Fault::kEnvironment);
}

TEST_F(HostsFile, WhatIsWrongIsSaidWithItsPlace) {
  const std::pair<const char*, const char*> kWrong[] = {
      {R"({"hosts": []})", ":1:11: hosts: expected at least 1 items"},
      {R"({"hosts": [{}]})", ":1:12: expected an \"address\", found none"},
      {R"({"hosts": [{"address": "127.0.0.1", "prot": 22}]})", ":1:37: "},
      {R"({"hosts": [{"address": "127.0.0.1", "port": 70000}]})", "port: expected at most 65535"},
      {R"({"hosts": [{"address": "127.0.0.1", "name": "../x"}]})", "expected a name of letters"},
      {R"({"hosts": [{"address": "127.0.0.1"}, {"address": "127.0.0.2", "name": "n1"}]})", "each name once"},
      {R"({"hosts": [{"ssh": "a", "via": ["b"]}]})", "one of \"ssh\" and \"via\""},
      {R"({"hosts": [{"address": "127.0.0.1", "via": []}]})", "via: expected at least 1 items"},
      {"{\"hosts\": [\n  1]}", ":2:3: "},
      {"{", "expected"},
  };
  for (const auto& [text, said] : kWrong) {
    const auto hosts = read(text);
    ASSERT_FALSE(hosts.ok()) << text;
    EXPECT_EQ(hosts.error().fault, Fault::kInput) << text;
    EXPECT_THAT(hosts.error().message, HasSubstr(folder_.path("hosts.json") + ":")) << text;
    EXPECT_THAT(hosts.error().message, HasSubstr(said)) << text;
  }
  EXPECT_THAT(read_hosts(folder_.path("nowhere")).error().message, HasSubstr("cannot be read"));
}

TEST_F(HostsFile, ANameThatIsNoHostIsTheEnvironments) {
  const auto hosts = read(R"({"hosts": [{"address": "no-such-host.invalid"}]})");
  ASSERT_FALSE(hosts.ok());
  EXPECT_EQ(hosts.error().fault, Fault::kEnvironment);
}

TEST(ShellWords, AreWhatAShellTakesThemFor) {
  EXPECT_EQ(shell_line({"a", "b c", "", "it's", "$x"}), "a 'b c' '' 'it'\\''s' '$x'");
}

}  // namespace
}  // namespace assay
