#include "targets/raft/replica/command.h"

#include "targets/kv/service/bytes.h"
#include "targets/kv/service/codec.h"

namespace assay::raft {
namespace {

constexpr uint8_t kFormat = 1;
constexpr uint8_t kFormatWithTime = 2;

std::optional<Command> read_head(kv::ByteReader& reader) {
  const uint8_t format = reader.u8();
  Command command;
  command.name.node.value = reader.varint();
  command.name.incarnation = reader.u64();
  command.name.sequence = reader.varint();
  if (format == kFormatWithTime) command.wall_ms = reader.signed_varint();
  const bool timed = command.wall_ms != 0;
  if (!reader.ok() || format != (timed ? kFormatWithTime : kFormat)) return std::nullopt;
  return command;
}

}  // namespace

std::string encode_command(const RequestName& name, const kv::Request& request, int64_t wall_ms) {
  std::string out;
  kv::ByteWriter writer(out);
  writer.u8(wall_ms != 0 ? kFormatWithTime : kFormat);
  writer.varint(name.node.value);
  writer.u64(name.incarnation);
  writer.varint(name.sequence);
  if (wall_ms != 0) writer.signed_varint(wall_ms);
  kv::encode(request, out);
  return out;
}

std::optional<Command> decode_command(std::string_view bytes) {
  kv::ByteReader reader(bytes);
  auto command = read_head(reader);
  if (!command) return std::nullopt;
  auto request = kv::decode(reader.rest());
  if (!request) return std::nullopt;
  command->request = std::move(*request);
  return command;
}

}  // namespace assay::raft
