#include "targets/raft/replica/command.h"

#include "targets/kv/service/bytes.h"
#include "targets/kv/service/codec.h"

namespace assay::raft {
namespace {

constexpr uint8_t kFormat = 1;

std::optional<RequestName> read_name(kv::ByteReader& reader) {
  const uint8_t format = reader.u8();
  RequestName name;
  name.node.value = reader.varint();
  name.incarnation = reader.u64();
  name.sequence = reader.varint();
  if (!reader.ok() || format != kFormat) return std::nullopt;
  return name;
}

}  // namespace

std::string encode_command(const RequestName& name, const kv::Request& request) {
  std::string out;
  kv::ByteWriter writer(out);
  writer.u8(kFormat);
  writer.varint(name.node.value);
  writer.u64(name.incarnation);
  writer.varint(name.sequence);
  kv::encode(request, out);
  return out;
}

std::optional<Command> decode_command(std::string_view bytes) {
  kv::ByteReader reader(bytes);
  const auto name = read_name(reader);
  if (!name) return std::nullopt;
  auto request = kv::decode(reader.rest());
  if (!request) return std::nullopt;
  return Command{*name, std::move(*request)};
}

}  // namespace assay::raft
