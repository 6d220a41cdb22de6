// The answers of http_front.h as JSON text, written straight into a string: this is on the path of
// every operation.
#include <charconv>

#include "checkers/history/value.h"
#include "targets/kv/http/base64.h"
#include "targets/kv/http/error_table.h"
#include "targets/kv/http/http_front.h"

namespace assay::kv {
namespace {

// Writes members with the rules of gRPC's gateway: 64-bit numbers are strings, defaults are absent.
class Writer {
 public:
  std::string text;

  void begin_object() { open('{'); }
  void begin_object(std::string_view name) { key(name), open('{'); }
  void end_object() { close('}'); }
  void begin_array(std::string_view name) { key(name), open('['); }
  void end_array() { close(']'); }

  template <typename Number>
  void number64(std::string_view name, Number value) {
    if (value == 0) return;
    key(name);
    text += '"';
    digits(value);
    text += '"';
  }
  // Written always, and without quotes: what the harness's own paths answer.
  template <typename Number>
  void number(std::string_view name, Number value) {
    key(name);
    digits(value);
  }
  void flag(std::string_view name, bool value) {
    if (value) key(name), text += "true";
  }
  void bytes(std::string_view name, std::string_view value) {
    if (value.empty()) return;
    key(name);
    text += '"';
    append_base64(text, value);
    text += '"';
  }
  void string(std::string_view name, std::string_view value) {
    key(name);
    append_json_string(text, value);
  }
  void item(std::string_view value) {
    separate();
    append_json_string(text, value);
  }

 private:
  void separate() {
    if (text.back() != '{' && text.back() != '[') text += ',';
  }
  void key(std::string_view name) {
    separate();
    text.append("\"").append(name).append("\":");
  }
  void open(char bracket) {
    if (!text.empty() && text.back() != ':') separate();
    text += bracket;
  }
  void close(char bracket) { text += bracket; }
  template <typename Number>
  void digits(Number value) {
    char buffer[24];
    text.append(buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr);
  }
};

void write_header(Writer& out, const Header& header, Revision revision) {
  out.begin_object("header");
  out.number64("cluster_id", header.cluster_id);
  out.number64("member_id", header.member_id);
  out.number64("revision", revision.value);
  out.number64("raft_term", header.raft_term);
  out.end_object();
}

void write_fields(Writer& out, const KeyValue& kv) {
  out.bytes("key", kv.key);
  out.number64("create_revision", kv.create_revision.value);
  out.number64("mod_revision", kv.mod_revision.value);
  out.number64("version", kv.version);
  out.bytes("value", kv.value);
}

void write_list(Writer& out, std::string_view name, const std::vector<KeyValuePtr>& kvs) {
  if (kvs.empty()) return;
  out.begin_array(name);
  for (const KeyValuePtr& kv : kvs) {
    out.begin_object();
    write_fields(out, *kv);
    out.end_object();
  }
  out.end_array();
}

void write_body(Writer& out, const RangeResponse& range) {
  write_list(out, "kvs", range.kvs);
  out.flag("more", range.more);
  out.number64("count", range.count);
}

void write_body(Writer& out, const PutResponse& put) {
  if (!put.prev_kv) return;
  out.begin_object("prev_kv");
  write_fields(out, *put.prev_kv);
  out.end_object();
}

void write_body(Writer& out, const DeleteRangeResponse& del) {
  out.number64("deleted", del.deleted);
  write_list(out, "prev_kvs", del.prev_kvs);
}

void write_body(Writer& out, const TxnResponse& txn);
void write_body(Writer&, const CompactionResponse&) {}

std::string_view name_of(const Response& response) {
  static constexpr std::string_view kNames[] = {"response_range", "response_put",
                                                "response_delete_range", "response_txn", ""};
  return kNames[response.body.index()];
}

void write_response(Writer& out, const Header& header, const Response& response) {
  write_header(out, header, response.revision);
  std::visit([&](const auto& body) { write_body(out, body); }, response.body);
}

void write_body(Writer& out, const TxnResponse& txn) {
  out.flag("succeeded", txn.succeeded);
  if (txn.responses.empty()) return;
  out.begin_array("responses");
  for (const Response& response : txn.responses) {
    out.begin_object();
    out.begin_object(name_of(response));
    write_response(out, Header{}, response);
    out.end_object();
    out.end_object();
  }
  out.end_array();
}

void write_events(Writer& out, const std::vector<WatchEvent>& events) {
  if (events.empty()) return;
  out.begin_array("events");
  for (const WatchEvent& event : events) {
    out.begin_object();
    if (event.kv->tombstone()) out.string("type", "DELETE");
    out.begin_object("kv");
    write_fields(out, *event.kv);
    out.end_object();
    if (event.prev_kv) {
      out.begin_object("prev_kv");
      write_fields(out, *event.prev_kv);
      out.end_object();
    }
    out.end_object();
  }
  out.end_array();
}

void write_urls(Writer& out, std::string_view name, const std::vector<std::string>& urls) {
  if (urls.empty()) return;
  out.begin_array(name);
  for (const std::string& url : urls) out.item(url);
  out.end_array();
}

std::string hex_of(uint64_t hash) {
  char buffer[17];
  std::snprintf(buffer, sizeof buffer, "%016llx", static_cast<unsigned long long>(hash));
  return buffer;
}

template <typename Fill>
HttpResponse object(Fill fill) {
  Writer out;
  out.text.reserve(256);
  out.begin_object();
  fill(out);
  out.end_object();
  return {200, "application/json", std::move(out.text)};
}

}  // namespace

HttpResponse render(const Header& header, const Response& response) {
  return object([&](Writer& out) { write_response(out, header, response); });
}

HttpResponse render(const Header& header, const StatusAnswer& status) {
  return object([&](Writer& out) {
    write_header(out, header, status.revision);
    out.string("version", status.version);
    out.number64("dbSize", status.db_size);
    out.number64("leader", status.leader);
    out.number64("raftIndex", status.raft_index);
    out.number64("raftTerm", header.raft_term);
    out.number64("raftAppliedIndex", status.raft_applied_index);
    out.number64("dbSizeInUse", status.db_size);
  });
}

HttpResponse render_hash(const Header& header, Revision revision, uint64_t state_hash) {
  return object([&](Writer& out) {
    write_header(out, header, revision);
    const auto hash = static_cast<uint32_t>(state_hash ^ state_hash >> 32);
    if (hash != 0) out.number("hash", hash);
  });
}

HttpResponse render(const Header& header, const std::vector<Member>& members) {
  return object([&](Writer& out) {
    write_header(out, header, Revision{});
    if (members.empty()) return;
    out.begin_array("members");
    for (const Member& member : members) {
      out.begin_object();
      out.number64("ID", member.id);
      out.string("name", member.name);
      write_urls(out, "peerURLs", member.peer_urls);
      write_urls(out, "clientURLs", member.client_urls);
      out.end_object();
    }
    out.end_array();
  });
}

std::string render_line(const Header& header, const WatchResponse& response) {
  Writer out;
  out.text.reserve(256);
  out.begin_object();
  out.begin_object("result");
  write_header(out, header, response.revision);
  out.number64("watch_id", response.watch_id);
  out.flag("created", response.created);
  out.flag("canceled", response.canceled);
  out.number64("compact_revision", response.compact_revision.value);
  if (!response.cancel_reason.empty()) out.string("cancel_reason", response.cancel_reason);
  write_events(out, response.events);
  out.end_object();
  out.end_object();
  out.text += '\n';
  return std::move(out.text);
}

HttpResponse render_health(bool healthy) {
  HttpResponse response =
      object([&](Writer& out) { out.string("health", healthy ? "true" : "false"); });
  response.status = healthy ? 200 : 503;
  return response;
}

HttpResponse render_version(std::string_view version) {
  return object([&](Writer& out) {
    out.string("etcdserver", version);
    out.string("etcdcluster", version);
  });
}

HttpResponse render(const NodeStatus& status) {
  return object([&](Writer& out) {
    out.string("role", status.role);
    out.number("term", status.term);
    out.string("leader", status.leader);
    out.number("commit", status.commit);
    out.number("applied", status.applied);
    out.string("chain", hex_of(status.chain));
    out.number("at", status.at.value);
    out.number("snapshot", status.snapshot);
    out.number("first", status.first);
  });
}

HttpResponse render(const ChainAnswer& chain) {
  return object([&](Writer& out) {
    out.number("from", chain.from);
    out.begin_array("hashes");
    for (const uint64_t hash : chain.hashes) out.item(hex_of(hash));
    out.end_array();
  });
}

HttpResponse render_error(int code, std::string_view message) {
  HttpResponse response = object([&](Writer& out) {
    out.string("error", message);
    out.string("message", message);
    out.number("code", code);
  });
  response.status = http_status_of(code);
  return response;
}

}  // namespace assay::kv
