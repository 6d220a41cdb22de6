// exec-rehearsal: for tests of the adapter: a store that keeps registers, a client program for it,
// and client programs that misbehave.
//
//   exec-rehearsal serve NODE FILE n1=ADDRESS:PORT,n2=…
//       keeps its state in FILE; nodes but the first forward to that
//   exec-rehearsal client
//       speaks for it, at each request's address
//   exec-rehearsal die ADDRESS:PORT
//       ends the store that serves there
//   exec-rehearsal MODE
//       a client program that answers as MODE says
//
// The store's protocol: a line "get K", "put K V" or "cas K OLD NEW" (words without spaces, "-" for
// absent), and a line "ok V", "no" or "err".
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace {

[[noreturn]] void die(const std::string& why) {
  std::fprintf(stderr, "exec-rehearsal: %s\n", why.c_str());
  std::exit(3);
}

sockaddr_in endpoint(const std::string& address, int port) {
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<uint16_t>(port));
  if (inet_pton(AF_INET, address.c_str(), &to.sin_addr) != 1) die("no address: " + address);
  return to;
}

void patience(int fd, int ms) {
  const timeval time{ms / 1000, ms % 1000 * 1000};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof time);  // also of connect
}

// One connection for questions, opened anew after a failure.
class Line {
 public:
  // "refused": it never left; "lost": it may have had its effect.
  std::string ask(const std::string& address, int port, const std::string& question, int ms) {
    if (fd_ < 0 && !open(address, port, ms)) return "refused";
    const std::string line = question + "\n";
    std::string answer;
    if (send(fd_, line.data(), line.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(line.size()))
      return lose();
    for (char c = 0; c != '\n';) {
      if (recv(fd_, &c, 1, 0) != 1) return lose();
      answer += c;
    }
    answer.pop_back();
    return answer;
  }

 private:
  bool open(const std::string& address, int port, int ms) {
    fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    patience(fd_, ms);
    const int on = 1;
    setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    const sockaddr_in to = endpoint(address, port);
    if (connect(fd_, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0) return true;
    lose();
    return false;
  }
  std::string lose() {
    close(fd_);
    fd_ = -1;
    return "lost";
  }
  int fd_ = -1;
};

// --- The store

class Registers {
 public:
  explicit Registers(const std::string& file) {
    file_ = open(file.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (file_ < 0) die("cannot open " + file);
    std::string text;
    char buffer[65536];
    for (ssize_t n; (n = read(file_, buffer, sizeof buffer)) > 0;) text.append(buffer, n);
    std::istringstream lines(text);
    for (std::string key, value; lines >> key >> value;) values_[key] = value;
  }

  std::string answer(const std::string& question) {
    std::istringstream words(question);
    std::string verb, key, first, second;
    words >> verb >> key >> first >> second;
    const auto found = values_.find(key);
    const std::string now = found == values_.end() ? "-" : found->second;
    if (verb == "die") _exit(7);
    if (verb == "get") return "ok " + now;
    if (verb == "put") return put(key, first);
    if (verb == "cas") return now == first ? put(key, second) : "no";
    return "err";
  }

 private:
  // Written before it is acknowledged: SIGKILL keeps what the kernel has.
  std::string put(const std::string& key, const std::string& value) {
    const std::string line = key + " " + value + "\n";
    if (write(file_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) return "err";
    values_[key] = value;
    return "ok " + value;
  }
  int file_;
  std::map<std::string, std::string> values_;
};

// Of "10.0.0.1:2379,…".
std::string address_of(const std::string& text) { return text.substr(0, text.find(':')); }
int port_of(const std::string& text) { return std::atoi(text.c_str() + text.find(':') + 1); }

int serve(int argc, char** argv) {
  if (argc != 5) die("serve NODE FILE ENDPOINTS");
  const std::string list = argv[4], name = std::string(argv[2]) + "=";
  const std::string first = list.substr(list.find('=') + 1);
  const std::string own = list.substr(list.find(name) + name.size());
  const std::string first_address = address_of(first), address = address_of(own);
  const int first_port = port_of(first), port = port_of(own);
  const bool forwards = !list.starts_with(name);
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const sockaddr_in here = endpoint(address, port);
  if (bind(listener, reinterpret_cast<const sockaddr*>(&here), sizeof here) != 0 ||
      listen(listener, 64) != 0)
    die("cannot listen on " + address + ":" + std::to_string(port));
  Registers registers(argv[3]);
  std::puts("listening");
  std::fflush(stdout);
  Line forward;
  std::vector<pollfd> fds{{listener, POLLIN, 0}};
  std::map<int, std::string> partial;
  for (;;) {
    if (poll(fds.data(), fds.size(), -1) < 0) continue;
    for (size_t i = fds.size(); i-- > 0;) {
      if (fds[i].revents == 0) continue;
      const int fd = fds[i].fd;
      if (i == 0) {
        const int client = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
        setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        if (client >= 0) fds.push_back({client, POLLIN, 0});
        continue;
      }
      char buffer[4096];
      const ssize_t n = recv(fd, buffer, sizeof buffer, 0);
      if (n <= 0) {
        close(fd);
        partial.erase(fd);
        fds.erase(fds.begin() + static_cast<long>(i));
        continue;
      }
      std::string& text = partial[fd].append(buffer, static_cast<size_t>(n));
      for (size_t end; (end = text.find('\n')) != std::string::npos; text.erase(0, end + 1)) {
        const std::string question = text.substr(0, end);
        const bool own = !forwards || question == "die";
        std::string answer = !own ? forward.ask(first_address, first_port, question, 300)
                                  : registers.answer(question);
        answer += '\n';
        send(fd, answer.data(), answer.size(), MSG_NOSIGNAL);
      }
    }
  }
}

// --- Its client program

// The value of a member as it is written; what this needs of JSON, and no more.
std::string member(const std::string& line, const std::string& name) {
  const std::string mark = "\"" + name + "\":";
  size_t at = line.find(mark);
  if (at == std::string::npos) return "";
  at += mark.size();
  if (line[at] == '"') return line.substr(at + 1, line.find('"', at + 1) - at - 1);
  const size_t end = line[at] == '[' ? line.find(']', at) + 1 : line.find_first_of(",}", at);
  return line.substr(at, end - at);
}

std::string word(const std::string& json) { return json == "null" ? "-" : json; }

// caching: gives every read of a key the answer of its first one.
int client(bool flaky, bool caching) {
  Line store;
  std::map<std::string, std::string> cache;
  int answers = 0;
  for (std::string line; std::getline(std::cin, line);) {
    const std::string id = member(line, "id"), f = member(line, "f"), key = member(line, "key"),
                      value = member(line, "value"), address = member(line, "address");
    std::string question;
    if (f == "read") question = "get " + key;
    if (f == "write") question = "put " + key + " " + word(value);
    if (f == "cas") {
      const size_t comma = value.find(',');
      question = "cas " + key + " " + word(value.substr(1, comma - 1)) + " " +
                 word(value.substr(comma + 1, value.size() - comma - 2));
    }
    std::string answer = store.ask(address_of(address), port_of(address), question,
                                   std::atoi(member(line, "timeout_ms").c_str()));
    if (caching && f == "read" && answer.starts_with("ok "))
      answer = cache.try_emplace(key, answer).first->second;
    std::string out = "{\"id\":" + id;
    if (answer.starts_with("ok ")) {
      const std::string now = answer.substr(3);
      out += ",\"type\":\"ok\",\"value\":" + (now == "-" ? "null" : now);
    } else if (answer == "no") {
      out += R"(,"type":"fail","error":{"class":"mismatch"})";
    } else {
      out += R"(,"error":{"code":")" + answer + "\"}";
    }
    if (flaky && ++answers % 40 == 0) {
      const int way = getpid() % 4;
      if (way == 0) die("out of luck");
      if (way == 1) pause();
      if (way == 2) out = "{\"id\":999";
      if (way == 3) out = "oops";
    }
    std::cout << out << "}" << std::endl;
  }
  return 0;
}

// --- Client programs that misbehave

int misbehave(const std::string& mode) {
  const std::string big(1 << 16, 'x');
  if (mode == "exit-at-once") die("no such library");
  if (mode == "flood-stdout-at-once") {
    for (;;) std::cout << big;
  }
  for (std::string line; std::getline(std::cin, line);) {
    const std::string id = member(line, "id");
    const std::string ok = "{\"id\":" + id + ",\"type\":\"ok\",\"value\":1}";
    if (mode == "answer") {
      std::cout << ok << std::endl;
    } else if (mode == "garbage") {
      std::cout << "Traceback (most recent call last):" << std::endl;
    } else if (mode == "double") {
      std::cout << ok + "\n" + ok << std::endl;
    } else if (mode == "other-id") {
      std::cout << "{\"id\":999,\"type\":\"ok\",\"value\":1}" << std::endl;
    } else if (mode == "unknown-type") {
      std::cout << "{\"id\":" + id + ",\"type\":\"maybe\"}" << std::endl;
    } else if (mode == "no-value") {
      std::cout << "{\"id\":" + id + ",\"type\":\"ok\"}" << std::endl;
    } else if (mode == "event") {
      std::cout << "{\"id\":" + id + ",\"event\":1}" << std::endl;
    } else if (mode == "exit") {
      die("out of luck");
    } else if (mode == "close-stdout") {
      close(1);
      pause();
    } else if (mode == "long-line") {
      for (int i = 0; i < 64; ++i) std::cout << big;
      std::cout << std::endl;
    } else if (mode == "flood-stdout") {
      for (;;) std::cout << ok << "\n";
    } else if (mode == "flood-stderr") {
      for (int i = 0; i < 64; ++i) std::cerr << big << "\n";  // 4 MB
      std::cout << ok << std::endl;
    } else if (mode == "silence") {
      // With a child in its group, as a program that starts others.
      if (fork() == 0) {
        for (;;) pause();
      }
    } else {
      die("no mode " + mode);
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) die("no mode");
  const std::string mode = argv[1];
  if (mode == "serve") return serve(argc, argv);
  if (mode == "client" || mode == "flaky" || mode == "caching")
    return client(mode == "flaky", mode == "caching");
  if (mode == "die" && argc == 3) {
    Line().ask(address_of(argv[2]), port_of(argv[2]), "die", 1000);
    return 0;
  }
  return misbehave(mode);
}
