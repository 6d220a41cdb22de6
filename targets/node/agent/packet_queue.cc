#include "targets/node/agent/packet_queue.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netlink.h>
#include <netinet/in.h>
// After netinet/in.h:
#include <linux/netfilter.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_queue.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

namespace assay::agent {
namespace {

constexpr uint32_t kHeldMax = 1 << 17;    // packets; the next ones pass
constexpr int kReceiveBytes = 16 << 20;   // of packets that were handed over and not yet read
constexpr size_t kMessageMax = 80 << 10;  // a whole packet and what the kernel says of it
constexpr int kReadAtOnce = 256;          // what is due must not wait for a flood
constexpr int kFirstNumber = 4'096, kTries = 64;

// One message to the kernel's queue subsystem.
class Message {
 public:
  Message(uint16_t type, uint16_t flags, uint16_t queue) {
    header().nlmsg_type = static_cast<uint16_t>(NFNL_SUBSYS_QUEUE << 8 | type);
    header().nlmsg_flags = static_cast<uint16_t>(NLM_F_REQUEST | flags);
    header().nlmsg_len = NLMSG_LENGTH(sizeof(nfgenmsg));
    auto* family = static_cast<nfgenmsg*>(NLMSG_DATA(&header()));
    family->nfgen_family = AF_UNSPEC;
    family->version = NFNETLINK_V0;
    family->res_id = htons(queue);
  }

  template <typename T>
  Message& put(uint16_t type, const T& value) {
    auto* attribute = reinterpret_cast<nlattr*>(bytes_ + NLMSG_ALIGN(header().nlmsg_len));
    attribute->nla_type = type;
    attribute->nla_len = static_cast<uint16_t>(NLA_HDRLEN + sizeof value);
    memcpy(reinterpret_cast<char*>(attribute) + NLA_HDRLEN, &value, sizeof value);
    header().nlmsg_len =
        static_cast<uint32_t>(NLMSG_ALIGN(header().nlmsg_len) + NLA_ALIGN(attribute->nla_len));
    return *this;
  }

  bool send_to(int fd) {
    return send(fd, bytes_, header().nlmsg_len, 0) == static_cast<ssize_t>(header().nlmsg_len);
  }

 private:
  nlmsghdr& header() { return *reinterpret_cast<nlmsghdr*>(bytes_); }
  alignas(NLMSG_ALIGNTO) char bytes_[256] = {};
};

// 0, or the errno with which the kernel answered.
int answer_of(int fd) {
  alignas(NLMSG_ALIGNTO) char buffer[4'096];
  const ssize_t n = recv(fd, buffer, sizeof buffer, 0);
  if (n < 0) return errno;
  const auto* header = reinterpret_cast<const nlmsghdr*>(buffer);
  if (n < static_cast<ssize_t>(NLMSG_LENGTH(sizeof(nlmsgerr))) || header->nlmsg_type != NLMSG_ERROR)
    return EPROTO;
  return -static_cast<const nlmsgerr*>(NLMSG_DATA(header))->error;
}

// Binds the number and sets everything in one message: no packet comes before all is set.
int bind_queue(int fd, uint16_t number) {
  Message bind(NFQNL_MSG_CONFIG, NLM_F_ACK, number);
  bind.put(NFQA_CFG_CMD, nfqnl_msg_config_cmd{.command = NFQNL_CFG_CMD_BIND})
      .put(NFQA_CFG_PARAMS,
           nfqnl_msg_config_params{.copy_range = htonl(0xffff), .copy_mode = NFQNL_COPY_PACKET})
      .put(NFQA_CFG_QUEUE_MAXLEN, htonl(kHeldMax))
      .put(NFQA_CFG_MASK, htonl(NFQA_CFG_F_FAIL_OPEN))
      .put(NFQA_CFG_FLAGS, htonl(NFQA_CFG_F_FAIL_OPEN));
  return bind.send_to(fd) ? answer_of(fd) : errno;
}

QueuedPacket packet_of(const nlmsghdr& message) {
  QueuedPacket packet;
  const char* at = static_cast<const char*>(NLMSG_DATA(&message)) + NLMSG_ALIGN(sizeof(nfgenmsg));
  const char* end = reinterpret_cast<const char*>(&message) + message.nlmsg_len;
  while (end - at >= NLA_HDRLEN) {
    const auto* attribute = reinterpret_cast<const nlattr*>(at);
    if (attribute->nla_len < NLA_HDRLEN || attribute->nla_len > end - at) break;
    const std::string_view value(at + NLA_HDRLEN, attribute->nla_len - NLA_HDRLEN);
    const int type = attribute->nla_type & NLA_TYPE_MASK;
    if (type == NFQA_PACKET_HDR && value.size() >= sizeof(nfqnl_msg_packet_hdr)) {
      nfqnl_msg_packet_hdr header;
      memcpy(&header, value.data(), sizeof header);
      packet.id = ntohl(header.packet_id);
    }
    if (type == NFQA_PAYLOAD) packet.bytes = value;
    at += NLA_ALIGN(attribute->nla_len);
  }
  constexpr size_t kSourceAt = 12, kShortest = 20;
  char text[INET_ADDRSTRLEN];
  if (packet.bytes.size() >= kShortest && packet.bytes[0] >> 4 == 4 &&
      inet_ntop(AF_INET, packet.bytes.data() + kSourceAt, text, sizeof text) != nullptr)
    packet.source = text;
  return packet;
}

}  // namespace

Result<PacketQueue> PacketQueue::open() {
  const int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_NETFILTER);
  const sockaddr_nl self{.nl_family = AF_NETLINK};
  if (fd < 0 || bind(fd, reinterpret_cast<const sockaddr*>(&self), sizeof self) != 0) {
    const int error = errno;
    if (fd >= 0) ::close(fd);
    return environment_error(std::string("no socket to netfilter: ") + strerror(error));
  }
  const int on = 1;
  setsockopt(fd, SOL_NETLINK, NETLINK_NO_ENOBUFS, &on, sizeof on);
  if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &kReceiveBytes, sizeof kReceiveBytes) != 0)
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &kReceiveBytes, sizeof kReceiveBytes);
  const timeval patience{.tv_sec = 2};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  int error = 0;
  for (int i = 0; i < kTries; ++i) {  // on a host, others have theirs
    const auto number = static_cast<uint16_t>(kFirstNumber + (getpid() + i) % 32'768);
    error = bind_queue(fd, number);
    if (error == 0) return PacketQueue(fd, number);
    if (error != EPERM && error != EEXIST && error != EBUSY) break;
  }
  ::close(fd);
  return environment_error(std::string("no NFQUEUE: ") + strerror(error));
}

void PacketQueue::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

void PacketQueue::read(const std::function<void(const QueuedPacket&)>& packet) const {
  alignas(NLMSG_ALIGNTO) static char buffer[kMessageMax];
  for (int round = 0; round < kReadAtOnce; ++round) {
    const ssize_t n = recv(fd_, buffer, sizeof buffer, MSG_DONTWAIT);
    if (n <= 0) return;
    auto left = static_cast<int>(n);  // below zero after a last message that is not padded
    for (auto* message = reinterpret_cast<const nlmsghdr*>(buffer); NLMSG_OK(message, left);
         message = NLMSG_NEXT(message, left)) {
      if (message->nlmsg_type == (NFNL_SUBSYS_QUEUE << 8 | NFQNL_MSG_PACKET))
        packet(packet_of(*message));
    }
  }
}

void PacketQueue::accept(uint32_t id) const {
  Message verdict(NFQNL_MSG_VERDICT, 0, number_);
  verdict.put(NFQA_VERDICT_HDR,
              nfqnl_msg_verdict_hdr{.verdict = htonl(NF_ACCEPT), .id = htonl(id)});
  verdict.send_to(fd_);
}

}  // namespace assay::agent
