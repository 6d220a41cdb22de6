#include "targets/node/hosts.h"

#include <netdb.h>
#include <pwd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "checkers/history/json_schema.h"
#include "checkers/history/json_text.h"
#include "targets/node/shell_words.h"

namespace assay {
namespace {

namespace fs = std::filesystem;
using Place = std::vector<std::string>;

std::string home_folder() {
  if (const char* home = std::getenv("HOME")) return home;
  const passwd* user = ::getpwuid(::getuid());
  return user ? user->pw_dir : "/";
}

std::string own_user() {
  const passwd* user = ::getpwuid(::getuid());
  return user ? user->pw_name : "root";
}

// Names become folders, words of command lines, and keys of the history.
bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= 64 && text.front() != '.' && text.front() != '-' &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) {
           return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
         });
}

// The first address of a name, as digits.
Result<std::string> resolve(const std::string& name) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  const int failed = ::getaddrinfo(name.c_str(), nullptr, &hints, &found);
  if (failed != 0)
    return environment_error("cannot resolve the host \"" + name + "\": " + gai_strerror(failed));
  char text[NI_MAXHOST];
  const int unnamed = ::getnameinfo(found->ai_addr, found->ai_addrlen, text, sizeof text, nullptr,
                                    0, NI_NUMERICHOST);
  ::freeaddrinfo(found);
  if (unnamed != 0)
    return environment_error("cannot resolve the host \"" + name + "\": " + gai_strerror(unnamed));
  return std::string(text);
}

// What OpenSSH's configuration says of an alias: `ssh -G`, lower-case name and value a line.
Result<std::multimap<std::string, std::string>> ask_openssh(const std::string& alias,
                                                            const std::string& config) {
  std::vector<std::string> argv{"ssh", "-G"};
  if (!config.empty()) argv.insert(argv.end(), {"-F", config});
  argv.insert(argv.end(), {"--", alias});
  std::FILE* pipe = ::popen((shell_line(argv) + " 2>&1").c_str(), "re");
  if (!pipe) return environment_error("cannot run ssh");
  std::string text;
  char block[4096];
  while (const size_t n = std::fread(block, 1, sizeof block, pipe)) text.append(block, n);
  const int status = ::pclose(pipe);
  if (status != 0) {
    text = text.substr(0, text.find('\n'));
    return environment_error("the OpenSSH configuration of \"" + alias + "\" cannot be asked for (" +
                             (text.empty() ? "ssh -G failed" : text) + "; package openssh-client)");
  }
  std::multimap<std::string, std::string> said;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const size_t space = line.find(' ');
    if (space != std::string::npos) said.emplace(line.substr(0, space), line.substr(space + 1));
  }
  return said;
}

class Reader {
 public:
  Reader(std::string_view text, const std::string& file)
      : text_(text), file_(file), folder_(fs::absolute(file).parent_path()) {}

  Result<std::vector<Host>> read(const Value& json) {
    std::vector<Host> hosts;
    const Value& defaults = json["defaults"];
    const auto& entries = json["hosts"].as_array();
    for (size_t i = 0; i < entries.size(); ++i) {
      Host host;
      host.name = "n" + std::to_string(i + 1);
      const Place place{"hosts", std::to_string(i)};
      auto taken = entries[i].is_string()
                       ? from_openssh(std::string(entries[i].as_text()), defaults, host)
                       : entry(entries[i], defaults, place, host);
      if (!taken) return taken.error();
      if (!is_name(host.name))
        return wrong(place, "expected a name of letters, digits, -, _ and ., found \"" + host.name + "\"");
      if (!names_.insert(host.name).second)
        return wrong(place, "expected each name once, found \"" + host.name + "\" again");
      hosts.push_back(std::move(host));
    }
    return hosts;
  }

 private:
  Error wrong(const Place& place, const std::string& message) const {
    return input_error(file_ + ":" + locate_json(text_, place, false) + ": " + message);
  }

  std::string path(std::string text) const {
    if (text.starts_with("~/")) text = home_folder() + text.substr(1);
    return (fs::path(folder_) / text).lexically_normal().string();
  }

  Result<void> entry(const Value& entry, const Value& defaults, const Place& place, Host& host) {
    const bool by_alias = entry["ssh"].is_string(), by_command = entry["via"].is_array();
    if (by_alias && by_command) return wrong(place, "expected one of \"ssh\" and \"via\", found both");
    if (by_alias) {
      auto asked = from_openssh(std::string(entry["ssh"].as_text()), defaults, host,
                                entry.text_or("ssh_config", ""));
      if (!asked) return asked;
    } else {
      if (!entry["address"].is_string()) return wrong(place, "expected an \"address\", found none");
      settings(defaults, host);
    }
    settings(entry, host);
    host.name = entry.text_or("name", host.name);
    if (by_command)
      for (const Value& word : entry["via"].as_array()) host.via.emplace_back(word.as_text());
    if (entry["address"].is_string()) {
      auto address = resolve(std::string(entry["address"].as_text()));
      if (!address) return address.error();
      host.address = *address;
    }
    if (entry["ssh_address"].is_string()) {
      auto address = resolve(std::string(entry["ssh_address"].as_text()));
      if (!address) return address.error();
      host.ssh_address = *address;
    }
    if (host.ssh_address.empty()) host.ssh_address = host.address;
    return complete(host);
  }

  Result<void> from_openssh(const std::string& alias, const Value& defaults, Host& host,
                            std::string_view own_config = "") {
    host.name = alias;
    const std::string config(own_config.empty() ? defaults.text_or("ssh_config", "") : own_config);
    auto said = ask_openssh(alias, config.empty() ? "" : path(config));
    if (!said) return said.error();
    for (const char* way : {"proxyjump", "proxycommand"}) {
      const auto found = said->find(way);
      if (found != said->end() && found->second != "none")
        return environment_error("the way to \"" + alias + "\" leads over another (" + way + " " +
                                 found->second + "): expected {\"address\":…,\"via\":[\"ssh\",\"" + alias +
                                 "\"]} for it in " + file_);
    }
    const auto one = [&](const char* name) {
      const auto found = said->find(name);
      return found == said->end() ? std::string() : found->second;
    };
    auto address = resolve(one("hostname"));
    if (!address) return address.error();
    host.address = host.ssh_address = *address;
    host.port = std::atoi(one("port").c_str());
    host.user = one("user");
    for (auto [at, end] = said->equal_range("identityfile"); at != end; ++at) {
      const std::string key = path(at->second);
      if (fs::exists(key)) host.keys.push_back(key);
    }
    std::istringstream files(one("userknownhostsfile"));
    std::string first;
    if (files >> first) host.known_hosts = path(first);
    const std::vector<std::string> keys = host.keys;
    Host over = host;
    settings(defaults, over);  // OpenSSH's word counts before those of the file
    host.sudo = over.sudo;
    host.env = over.env;
    host.cache = over.cache;
    return complete(host);
  }

  void settings(const Value& said, Host& host) const {
    if (!said.is_object()) return;
    host.port = static_cast<int>(said.int_or("port", host.port));
    host.user = said.text_or("user", host.user);
    const Value& key = said["key"];
    if (key.is_string()) host.keys = {path(std::string(key.as_text()))};
    if (key.is_array()) {
      host.keys.clear();
      for (const Value& one : key.as_array()) host.keys.push_back(path(std::string(one.as_text())));
    }
    if (said["known_hosts"].is_string())
      host.known_hosts = path(std::string(said["known_hosts"].as_text()));
    host.sudo = said.bool_or("sudo", host.sudo);
    host.cache = said.text_or("cache", host.cache);
    if (said["env"].is_object())
      for (const auto& [name, value] : said["env"].as_object())
        host.env[std::string(name.text())] = value.as_text();
  }

  Result<void> complete(Host& host) const {
    if (host.user.empty()) host.user = own_user();
    if (host.known_hosts.empty()) host.known_hosts = home_folder() + "/.ssh/known_hosts";
    if (host.keys.empty())
      for (const char* name : {"id_ed25519", "id_ecdsa"}) {
        const std::string key = home_folder() + "/.ssh/" + name;
        if (fs::exists(key)) host.keys.push_back(key);
      }
    return {};
  }

  std::string_view text_;
  const std::string& file_;
  const fs::path folder_;
  std::set<std::string> names_;
};

}  // namespace

Result<std::vector<Host>> read_hosts(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (!file || fs::is_directory(path) || !(text << file.rdbuf()))
    return input_error(path + ": cannot be read");
  const std::string content = text.str();
  auto json = parse_json(content, path);
  if (!json) return json.error();
  if (auto valid = validate(*json, hosts_schema(), content, path); !valid) return valid.error();
  return Reader(content, path).read(*json);
}

}  // namespace assay
