// A host that is reached over SSH: one session of libssh2 (1.10), never blocking, on the Loop's
// thread. One channel at a time is open; the last one carries the agent.
//
// What libssh2 does not do is done here: deadlines (its keepalives check no reply, so the kernel is
// told to give up by TCP_USER_TIMEOUT, and the agent's beats see the rest), the choice of the host
// key that known_hosts knows, exit signals (a killed command looks like a success without them).
#include <fcntl.h>
#include <libssh2.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <deque>
#include <fstream>
#include <sstream>
#include <utility>

#include "targets/node/agent/base64.h"
#include "targets/node/remote_shell.h"
#include "targets/node/shell_words.h"

namespace assay {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr Nanos kConnects = seconds(5);
constexpr Nanos kGreets = seconds(8);         // the server's first word, and the exchange of keys
constexpr Nanos kLogsIn = seconds(8);
constexpr unsigned kUserTimeoutMs = 5'000;    // data that nobody acknowledges so long: it is broken
constexpr size_t kBlockBytes = 64 << 10;

struct HostKeyType {
  int session;    // libssh2's name in a session
  int known;      // the same in known_hosts
  const char* algorithm;
  const char* name;
};
constexpr HostKeyType kHostKeys[] = {
    {LIBSSH2_HOSTKEY_TYPE_ED25519, LIBSSH2_KNOWNHOST_KEY_ED25519, "ssh-ed25519", "ed25519"},
    {LIBSSH2_HOSTKEY_TYPE_ECDSA_256, LIBSSH2_KNOWNHOST_KEY_ECDSA_256, "ecdsa-sha2-nistp256", "ecdsa"},
    {LIBSSH2_HOSTKEY_TYPE_ECDSA_384, LIBSSH2_KNOWNHOST_KEY_ECDSA_384, "ecdsa-sha2-nistp384", "ecdsa"},
    {LIBSSH2_HOSTKEY_TYPE_ECDSA_521, LIBSSH2_KNOWNHOST_KEY_ECDSA_521, "ecdsa-sha2-nistp521", "ecdsa"},
    {LIBSSH2_HOSTKEY_TYPE_RSA, LIBSSH2_KNOWNHOST_KEY_SSHRSA, "ssh-rsa", "rsa"},
};

// "ssh-rsa" stands in an OpenSSH key's first bytes.
bool is_rsa(const std::string& path) {
  std::ifstream file(path);
  std::string text, line;
  while (std::getline(file, line) && text.size() < 400) {
    if (line.find("BEGIN RSA") != std::string::npos) return true;
    if (line.find("-----") == std::string::npos) text += line;
  }
  const auto bytes = agent::base64_decode(text.substr(0, text.size() / 4 * 4));
  return bytes && bytes->find("ssh-rsa") != std::string::npos;
}

// The connection, and what is under way on it.
class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(asio::io_context& io, Loop& loop, const Host& host)
      : host_(host), loop_(loop), socket_(io), ssh_(libssh2_session_init()) {
    ASSAY_CHECK(ssh_, "libssh2_session_init");
    libssh2_session_set_blocking(ssh_, 0);
  }
  ~Session() {
    // Shut down first: libssh2 says farewell to whatever has the descriptor's number.
    if (socket_.is_open()) ::shutdown(socket_.native_handle(), SHUT_RDWR);
    if (hosts_) libssh2_knownhost_free(hosts_);
    if (agent_) libssh2_agent_free(agent_);
    for (int i = 0; i < 100 && libssh2_session_free(ssh_) == LIBSSH2_ERROR_EAGAIN; ++i) {
    }
  }

  const Host& host() const { return host_; }
  Loop& loop() { return loop_; }
  LIBSSH2_SESSION* ssh() { return ssh_; }
  tcp::socket& socket() { return socket_; }
  std::string where() const { return host_.ssh_address + ":" + std::to_string(host_.port); }

  // Whom to tell of the step under way. Exactly one of the two is called for each begin().
  void begin(std::function<void(const Error&)> failed) { failed_ = std::move(failed); }
  void fail(const std::string& why) {
    ++step_;
    error_code ignored;
    socket_.close(ignored);
    if (const auto failed = std::exchange(failed_, nullptr)) failed(environment_error(why));
  }
  bool broken() const { return !socket_.is_open(); }

  // Repeats `fn` until it returns something else than EAGAIN. Where nothing moves for `patience`
  // the step fails with `too_late`.
  void attempt(Nanos patience, std::string too_late, std::function<int()> fn,
               std::function<void(int)> then) {
    const int64_t step = ++step_;
    moved_ = loop_.now();
    watch(step, patience, std::move(too_late));
    again(step, std::move(fn), std::move(then));
  }
  void moved() { moved_ = loop_.now(); }

  std::string last_error() const {
    char* text = nullptr;
    libssh2_session_last_error(ssh_, &text, nullptr, 0);
    return text && *text ? text : "no reason is given";
  }

  void connect(std::function<void()> then) {
    ::signal(SIGPIPE, SIG_IGN);
    error_code bad;
    const auto address = asio::ip::make_address(host_.ssh_address, bad);
    if (bad) return fail("expected a numeric address, found " + host_.ssh_address);
    const int64_t step = ++step_;
    moved_ = loop_.now();
    watch(step, kConnects,
          "cannot connect to " + where() + " within " + format_duration(kConnects) +
              ": is it up, does a firewall drop packets?");
    socket_.async_connect(
        tcp::endpoint(address, static_cast<uint16_t>(host_.port)),
        [self = shared_from_this(), step, then = std::move(then)](const error_code& error) {
          if (step != self->step_) return;
          if (error)
            return self->fail("cannot connect to " + self->where() + ": " + error.message() +
                              (error == asio::error::connection_refused ? " (does sshd run there?)" : ""));
          const int fd = self->socket_.native_handle(), on = 1;
          ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
          ::setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &kUserTimeoutMs, sizeof kUserTimeoutMs);
          error_code ignored;
          self->socket_.non_blocking(true, ignored);
          then();
        });
  }

  void greet(std::function<void()> then) {
    read_known_hosts();
    attempt(
        kGreets,
        where() + " took the connection and then said nothing for " + format_duration(kGreets) +
            ": is that sshd, does it hang?",
        [this] { return libssh2_session_handshake(ssh_, socket_.native_handle()); },
        [this, then = std::move(then)](int rc) {
          if (rc != 0) return fail(handshake_error(rc));
          if (const std::string wrong = host_key_error(); !wrong.empty()) return fail(wrong);
          then();
        });
  }

  // With each of the keys, then with those of the user's agent.
  void log_in(std::function<void()> then, size_t at = 0) {
    if (at >= host_.keys.size()) return log_in_by_agent(std::move(then));
    const std::string& key = host_.keys[at];
    attempt(
        kLogsIn, where() + " does not answer to the key " + key + " within " + format_duration(kLogsIn),
        [this, &key] {
          return libssh2_userauth_publickey_fromfile_ex(
              ssh_, host_.user.c_str(), static_cast<unsigned>(host_.user.size()), nullptr, key.c_str(),
              nullptr);
        },
        [this, &key, at, then](int rc) {
          if (rc == 0) return then();
          const std::string why = is_rsa(key) ? "is an RSA key, whose signature libssh2 cannot make for "
                                                "this sshd: expected ed25519 or ecdsa, or \"via\":[\"ssh\",…]"
                                  : ::access(key.c_str(), R_OK) != 0 ? strerror(errno)
                                                                     : last_error();
          tried_ += (tried_.empty() ? "" : "; ") + key + ": " + why;
          log_in(then, at + 1);
        });
  }

 private:
  void watch(int64_t step, Nanos patience, std::string too_late) {
    loop_.at(moved_ + patience, [weak = weak_from_this(), step, patience, too_late] {
      const auto self = weak.lock();
      if (!self || step != self->step_) return;
      if (self->loop_.now() - self->moved_ >= patience) return self->fail(too_late);
      self->watch(step, patience, too_late);
    });
  }

  void again(int64_t step, std::function<int()> fn, std::function<void(int)> then) {
    if (step != step_) return;
    const int rc = fn();
    if (step != step_) return;
    if (rc != LIBSSH2_ERROR_EAGAIN) {
      ++step_;
      return then(rc);
    }
    const bool out = libssh2_session_block_directions(ssh_) & LIBSSH2_SESSION_BLOCK_OUTBOUND;
    socket_.async_wait(out ? tcp::socket::wait_write : tcp::socket::wait_read,
                       [self = shared_from_this(), step, fn = std::move(fn),
                        then = std::move(then)](const error_code& error) mutable {
                         if (step != self->step_) return;
                         if (error) return self->fail("the connection broke: " + error.message());
                         self->again(step, std::move(fn), std::move(then));
                       });
  }

  void read_known_hosts() {
    hosts_ = libssh2_knownhost_init(ssh_);
    known_file_ = libssh2_knownhost_readfile(hosts_, host_.known_hosts.c_str(),
                                             LIBSSH2_KNOWNHOST_FILE_OPENSSH) >= 0;
    // The server is asked for a key of a kind that is known of it.
    std::string algorithms;
    for (const HostKeyType& type : kHostKeys) {
      if (look_up("x", 1, type.known) == LIBSSH2_KNOWNHOST_CHECK_MISMATCH)
        algorithms += (algorithms.empty() ? "" : ",") + std::string(type.algorithm);
    }
    only_rsa_ = algorithms == "ssh-rsa";
    if (!algorithms.empty())
      libssh2_session_method_pref(ssh_, LIBSSH2_METHOD_HOSTKEY, algorithms.c_str());
  }

  int look_up(const char* key, size_t bytes, int type) {
    const int kind = LIBSSH2_KNOWNHOST_TYPE_PLAIN | LIBSSH2_KNOWNHOST_KEYENC_RAW | type;
    return libssh2_knownhost_checkp(hosts_, host_.ssh_address.c_str(), host_.port, key, bytes, kind,
                                    nullptr);
  }

  std::string handshake_error(int rc) const {
    if (rc == LIBSSH2_ERROR_KEX_FAILURE || rc == LIBSSH2_ERROR_METHOD_NONE || only_rsa_)
      return "no common way with the sshd of " + where() + " (" + last_error() + ")" +
             (only_rsa_ ? ": of its host keys only the RSA one is in " + host_.known_hosts : "") +
             ": expected a host key of kind ed25519 or ecdsa";
    return where() + " is no SSH server as expected: " + last_error();
  }

  std::string host_key_error() {
    size_t bytes = 0;
    int type = 0;
    const char* key = libssh2_session_hostkey(ssh_, &bytes, &type);
    const HostKeyType* known = nullptr;
    for (const HostKeyType& one : kHostKeys) {
      if (one.session == type) known = &one;
    }
    const int found = look_up(key, bytes, known ? known->known : LIBSSH2_KNOWNHOST_KEY_UNKNOWN);
    if (found == LIBSSH2_KNOWNHOST_CHECK_MATCH) return "";
    const std::string name = known ? known->name : "unknown kind";
    const char* hash = libssh2_hostkey_hash(ssh_, LIBSSH2_HOSTKEY_HASH_SHA256);
    std::string print = hash ? agent::base64_encode({hash, 32}) : "";
    while (!print.empty() && print.back() == '=') print.pop_back();
    const std::string shown = name + " SHA256:" + print;
    const std::string entry = host_.port == 22 ? host_.ssh_address
                                               : "[" + host_.ssh_address + "]:" + std::to_string(host_.port);
    if (found == LIBSSH2_KNOWNHOST_CHECK_MISMATCH)
      return "the host key of " + where() + " (" + shown + ") is not the one in " + host_.known_hosts +
             ": if the host was set up anew, `ssh-keygen -f " + host_.known_hosts + " -R '" + entry +
             "'`; else somebody else answers there";
    return "the host key of " + where() + " (" + shown + ") is not in " + host_.known_hosts +
           (known_file_ ? "" : ", which cannot be read") + ": compare it with the host's own, then `ssh-keyscan -p " +
           std::to_string(host_.port) + " " + host_.ssh_address + " >> " + host_.known_hosts + "`";
  }

  void log_in_by_agent(std::function<void()> then) {
    if (::getenv("SSH_AUTH_SOCK") && !agent_) {
      agent_ = libssh2_agent_init(ssh_);
      if (agent_ && (libssh2_agent_connect(agent_) != 0 || libssh2_agent_list_identities(agent_) != 0)) {
        libssh2_agent_free(agent_);
        agent_ = nullptr;
      }
    }
    if (!agent_ || libssh2_agent_get_identity(agent_, &identity_, identity_) != 0) return refused();
    attempt(
        kLogsIn, where() + " does not answer to a key of the SSH agent within " + format_duration(kLogsIn),
        [this] { return libssh2_agent_userauth(agent_, host_.user.c_str(), identity_); },
        [this, then](int rc) {
          if (rc == 0) return then();
          tried_ += (tried_.empty() ? "" : "; ") + std::string("the SSH agent's ") + identity_->comment +
                    ": " + last_error();
          log_in_by_agent(then);
        });
  }

  void refused() {
    fail(where() + " lets " + host_.user + " not in: " +
         (tried_.empty() ? "there is no key (\"key\" in the hosts file, ~/.ssh/id_ed25519, an SSH agent)"
                         : tried_));
  }

  const Host host_;
  Loop& loop_;
  tcp::socket socket_;
  LIBSSH2_SESSION* const ssh_;
  LIBSSH2_KNOWNHOSTS* hosts_ = nullptr;
  LIBSSH2_AGENT* agent_ = nullptr;
  libssh2_agent_publickey* identity_ = nullptr;
  bool known_file_ = false;
  bool only_rsa_ = false;
  std::string tried_;
  std::function<void(const Error&)> failed_;
  int64_t step_ = 0;  // counts what is begun and ended: what belongs to an earlier one is void
  Nanos moved_;
};

ProcessEnd end_of(LIBSSH2_SESSION* ssh, LIBSSH2_CHANNEL* channel, std::string* signal_name = nullptr) {
  ProcessEnd end{.code = libssh2_channel_get_exit_status(channel)};
  char* name = nullptr;
  libssh2_channel_get_exit_signal(channel, &name, nullptr, nullptr, nullptr, nullptr, nullptr);
  if (!name) return end;
  static constexpr std::pair<const char*, int> kSignals[] = {
      {"KILL", SIGKILL}, {"TERM", SIGTERM}, {"HUP", SIGHUP}, {"INT", SIGINT}, {"ABRT", SIGABRT},
      {"SEGV", SIGSEGV}, {"PIPE", SIGPIPE}, {"ILL", SIGILL}, {"FPE", SIGFPE}, {"QUIT", SIGQUIT}};
  end.signal = SIGKILL;  // that of a name which is not here
  for (const auto& [known, number] : kSignals)
    if (std::string_view(name) == known) end.signal = number;
  if (signal_name) *signal_name = name;
  libssh2_free(ssh, name);
  return end;
}

// A command on a channel of its own, from its opening to its end.
class Command : public std::enable_shared_from_this<Command> {
 public:
  Command(std::shared_ptr<Session> session, std::string script) : session_(std::move(session)), script_(std::move(script)) {}
  ~Command() {
    if (channel_ && !session_->broken()) libssh2_channel_free(channel_);
  }

  void open(Nanos patience, std::function<void()> then) {
    const std::string late = session_->where() + " does not begin a command within " + format_duration(patience);
    session_->attempt(
        patience, late,
        [self = shared_from_this()] {
          LIBSSH2_SESSION* ssh = self->session_->ssh();
          if (!self->channel_) self->channel_ = libssh2_channel_open_session(ssh);
          return self->channel_ ? 0 : libssh2_session_last_errno(ssh);
        },
        [self = shared_from_this(), patience, late, then = std::move(then)](int rc) {
          if (rc != 0) return self->session_->fail(self->session_->where() + " opens no channel: " + self->session_->last_error());
          self->session_->attempt(
              patience, late, [self] { return libssh2_channel_exec(self->channel_, self->script_.c_str()); },
              [self, then](int rc) {
                if (rc == 0) return then();
                self->session_->fail(self->session_->where() + " runs no command: " + self->session_->last_error());
              });
        });
  }

  void transfer(std::shared_ptr<const std::string> input, Nanos patience, std::function<void(RemoteShell::Output)> then) {
    input_ = std::move(input);
    session_->attempt(
        patience, "a command on " + session_->where() + " does nothing for " + format_duration(patience),
        [self = shared_from_this()] { return self->move(); },
        [self = shared_from_this(), then = std::move(then)](int rc) {
          if (rc != 0)
            return self->session_->fail("the connection to " + self->session_->where() + " broke: " + self->session_->last_error());
          then(self->output_);
        });
  }

 private:
  // Sends and receives what is possible.
  int move() {
    char block[kBlockBytes];
    while (input_ && sent_ < input_->size() && !libssh2_channel_eof(channel_)) {
      const ssize_t n = libssh2_channel_write(channel_, input_->data() + sent_,
                                              std::min(kBlockBytes / 2, input_->size() - sent_));
      if (n == LIBSSH2_ERROR_EAGAIN) break;
      if (n < 0) break;  // its end says why
      sent_ += static_cast<size_t>(n);
      session_->moved();
    }
    if (libssh2_session_block_directions(session_->ssh()) & LIBSSH2_SESSION_BLOCK_OUTBOUND && sent_ < input_size())
      return LIBSSH2_ERROR_EAGAIN;  // the rest of that packet first
    if (sent_ == input_size() && !ended_input_) {
      const int rc = libssh2_channel_send_eof(channel_);
      if (rc == LIBSSH2_ERROR_EAGAIN) return rc;
      ended_input_ = true;
    }
    for (int stream : {0, SSH_EXTENDED_DATA_STDERR}) {
      for (;;) {
        const ssize_t n = libssh2_channel_read_ex(channel_, stream, block, sizeof block);
        if (n == LIBSSH2_ERROR_EAGAIN || n == 0) break;
        if (n < 0) return static_cast<int>(n);
        output_.text.append(block, static_cast<size_t>(n));
        session_->moved();
      }
    }
    if (!libssh2_channel_eof(channel_)) return LIBSSH2_ERROR_EAGAIN;
    const int closed = libssh2_channel_close(channel_);
    if (closed == LIBSSH2_ERROR_EAGAIN) return closed;
    const int waited = libssh2_channel_wait_closed(channel_);
    if (waited == LIBSSH2_ERROR_EAGAIN) return waited;
    output_.end = end_of(session_->ssh(), channel_);
    return 0;
  }
  size_t input_size() const { return input_ ? input_->size() : 0; }

  friend class SshCarrier;
  std::shared_ptr<Session> session_;
  const std::string script_;
  LIBSSH2_CHANNEL* channel_ = nullptr;
  std::shared_ptr<const std::string> input_;
  size_t sent_ = 0;
  bool ended_input_ = false;
  RemoteShell::Output output_;
};

// The agent's channel: bytes both ways until one side ends it.
class AgentChannel : public std::enable_shared_from_this<AgentChannel> {
 public:
  AgentChannel(std::shared_ptr<Session> session, int log) : session_(std::move(session)), log_(log) {}
  ~AgentChannel() {
    if (log_ >= 0) ::close(log_);
  }

  void open(std::shared_ptr<Command> command, LIBSSH2_CHANNEL*& channel, AgentCarrier::Sink sink) {
    sink_ = std::move(sink);
    session_->begin([self = shared_from_this()](const Error& why) { self->finish(why.message); });
    command->open(seconds(5), [self = shared_from_this(), command, &channel] {
      self->command_ = command;
      self->channel_ = channel;
      self->pump();
    });
  }
  void write(std::string bytes) {
    queue_.push_back(std::move(bytes));
    pump_later();
  }
  void end_input() {
    ends_ = true;
    pump_later();
  }
  // The connection ends with us, and the agent with it.
  void let_go() {
    sink_ = {};
    finished_ = true;
    channel_ = nullptr;
    command_.reset();
    error_code ignored;
    if (session_->socket().is_open()) ::shutdown(session_->socket().native_handle(), SHUT_RDWR);
    session_->socket().cancel(ignored);
  }

 private:
  void pump_later() {
    if (posted_) return;
    posted_ = true;
    session_->loop().post([weak = weak_from_this()] {
      const auto self = weak.lock();
      if (!self) return;
      self->posted_ = false;
      self->pump();
    });
  }

  bool outbound() const {
    return libssh2_session_block_directions(session_->ssh()) & LIBSSH2_SESSION_BLOCK_OUTBOUND;
  }

  void pump() {
    if (!channel_ || finished_) return;
    if (!send()) return;
    if (!outbound() && !receive()) return;
    if (finished_) return;
    wait(tcp::socket::wait_read, reading_);
    if (outbound()) wait(tcp::socket::wait_write, writing_);
  }

  // False: it is over.
  bool send() {
    while (!queue_.empty()) {
      const std::string& front = queue_.front();
      const ssize_t n = libssh2_channel_write(channel_, front.data() + sent_, front.size() - sent_);
      if (n == LIBSSH2_ERROR_EAGAIN) return true;
      if (n < 0) return broke();
      sent_ += static_cast<size_t>(n);
      if (sent_ < front.size()) continue;
      queue_.pop_front();
      sent_ = 0;
    }
    if (!ends_ || ended_input_) return true;
    const int rc = libssh2_channel_send_eof(channel_);
    if (rc == LIBSSH2_ERROR_EAGAIN) return true;
    ended_input_ = true;
    return true;
  }

  bool receive() {
    for (;;) {
      const ssize_t n = libssh2_channel_read(channel_, buffer_.data(), buffer_.size());
      if (n == LIBSSH2_ERROR_EAGAIN || n == 0) break;
      if (n < 0) return broke();
      if (const auto received = sink_.received) received({buffer_.data(), static_cast<size_t>(n)});
      if (finished_) return false;
    }
    for (;;) {
      const ssize_t n = libssh2_channel_read_stderr(channel_, buffer_.data(), buffer_.size());
      if (n == LIBSSH2_ERROR_EAGAIN || n == 0) break;
      if (n < 0) return broke();
      complained_.append(buffer_.data(), static_cast<size_t>(n));
      if (complained_.size() > 1000) complained_.erase(0, complained_.size() - 1000);
      if (log_ >= 0 && ::write(log_, buffer_.data(), static_cast<size_t>(n)) < 0) return broke();
    }
    if (!libssh2_channel_eof(channel_)) return true;
    const int closed = libssh2_channel_close(channel_);
    if (closed == LIBSSH2_ERROR_EAGAIN || libssh2_channel_wait_closed(channel_) == LIBSSH2_ERROR_EAGAIN)
      return true;
    std::string signal;
    const ProcessEnd end = end_of(session_->ssh(), channel_, &signal);
    while (!complained_.empty() && complained_.back() == '\n') complained_.pop_back();
    const std::string last = complained_.substr(complained_.rfind('\n') + 1);
    std::string how = end.signal ? "killed by signal " + signal : "exited with " + std::to_string(end.code);
    if ((end.code || end.signal) && !last.empty()) how += " (" + last + ")";
    finish(how);
    return false;
  }

  bool broke() {
    finish("the SSH connection to " + session_->where() + " broke: " + session_->last_error());
    return false;
  }

  void finish(const std::string& how) {
    if (finished_) return;
    finished_ = true;
    session_->loop().post([self = shared_from_this(), how] {
      if (const auto ended = std::exchange(self->sink_.ended, nullptr)) ended(how);
    });
  }

  void wait(tcp::socket::wait_type what, bool& waiting) {
    if (waiting) return;
    waiting = true;
    session_->socket().async_wait(what, [self = shared_from_this(), &waiting](const error_code& error) {
      waiting = false;
      if (error && !self->finished_) self->broke();
      if (!error) self->pump();
    });
  }

  std::shared_ptr<Session> session_;
  std::shared_ptr<Command> command_;
  LIBSSH2_CHANNEL* channel_ = nullptr;
  const int log_;
  AgentCarrier::Sink sink_;
  std::deque<std::string> queue_;
  size_t sent_ = 0;
  bool ends_ = false, ended_input_ = false, posted_ = false, finished_ = false;
  bool reading_ = false, writing_ = false;
  std::string complained_;
  std::array<char, kBlockBytes> buffer_;
};

class SshCarrier : public AgentCarrier {
 public:
  SshCarrier(std::shared_ptr<Session> session, const std::string& script, int log)
      : command_(std::make_shared<Command>(session, "sh -c " + shell_word(script))),
        channel_(std::make_shared<AgentChannel>(session, log)) {}
  ~SshCarrier() override { channel_->let_go(); }
  void open(Sink sink) override { channel_->open(command_, command_->channel_, std::move(sink)); }
  void write(std::string bytes) override { channel_->write(std::move(bytes)); }
  void end_input() override { channel_->end_input(); }
  void kill() override { channel_->let_go(); }  // it reads the end of its input, or hears no beat

 private:
  std::shared_ptr<Command> command_;
  std::shared_ptr<AgentChannel> channel_;
};

class SshShell : public RemoteShell {
 public:
  explicit SshShell(std::shared_ptr<Session> session) : session_(std::move(session)) {}

  void run(const std::string& script, std::shared_ptr<const std::string> input, Nanos patience,
           Node::Done<Output> done) override {
    session_->loop().post([session = session_, script, input, patience, done] {
      session->begin([done](const Error& why) { done(why); });
      const auto command = std::make_shared<Command>(session, "sh -c " + shell_word(script));
      command->open(patience, [session, command, input, patience, done] {
        command->transfer(input, patience, [session, done](const Output& output) {
          session->begin(nullptr);
          done(output);
        });
      });
    });
  }

  Result<std::unique_ptr<AgentCarrier>> carry(const std::string& script, const std::string& log) override {
    const int fd = log.empty() ? -1 : ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (fd < 0 && !log.empty()) return environment_error("cannot open " + log + ": " + strerror(errno));
    return std::unique_ptr<AgentCarrier>(std::make_unique<SshCarrier>(session_, script, fd));
  }

 private:
  std::shared_ptr<Session> session_;
};

}  // namespace

void open_ssh_shell(asio::io_context& io, Loop& loop, const Host& host,
                    Node::Done<std::shared_ptr<RemoteShell>> done) {
  loop.post([&io, &loop, host, done] {
    const auto session = std::make_shared<Session>(io, loop, host);
    session->begin([done](const Error& why) { done(why); });
    session->connect([session, done] {
      session->greet([session, done] {
        session->log_in([session, done] {
          session->begin(nullptr);
          done(std::shared_ptr<RemoteShell>(std::make_shared<SshShell>(session)));
        });
      });
    });
  });
}

}  // namespace assay
