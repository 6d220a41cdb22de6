#!/usr/bin/env python3
"""Records what etcd answers to random requests, for service_test.cc to compare with.

Usage: record_etcd.py SEED COUNT > etcd_SEED.txt      (needs etcd in PATH; runs it on loopback)

Each request is one line in the small language that transcript.h reads, and is followed by "= " and
etcd's answer in the form that transcript.h prints. Keys are few and values short, so that requests
meet the same keys; revisions are drawn around the current one, so that some are in the future and,
after a compaction, some are compacted.
"""
import base64, http.client, json, random, shutil, socket, subprocess, sys, tempfile, time

KEYS = ["a", "b", "c", "d", "da", "e"]
ENDS = ["-", "-", "-", "c", "e", "z", "\\0", "a"]
VALUES = ["x", "y", "z", "xx"]
TARGETS = ["version", "create", "mod", "value"]
RESULTS = {"=": "EQUAL", ">": "GREATER", "<": "LESS", "!=": "NOT_EQUAL"}


class Etcd:
    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="record-etcd-")
        client, peer = self.free_port(), self.free_port()
        url, peer_url = f"http://127.0.0.1:{client}", f"http://127.0.0.1:{peer}"
        self.process = subprocess.Popen(
            ["etcd", "--data-dir", self.folder, "--listen-client-urls", url, "--advertise-client-urls", url,
             "--listen-peer-urls", peer_url, "--initial-advertise-peer-urls", peer_url,
             "--initial-cluster", f"default={peer_url}", "--unsafe-no-fsync"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.port = client
        for _ in range(100):
            try:
                if "header" in self.call("/v3/kv/range", {"key": "YQ=="}):
                    return
            except OSError:
                pass
            time.sleep(0.1)
        raise SystemExit("etcd does not answer")

    @staticmethod
    def free_port():
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            return s.getsockname()[1]

    def call(self, path, body):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        connection.request("POST", path, json.dumps(body))
        answer = json.loads(connection.getresponse().read())
        connection.close()
        return answer

    def stop(self):
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.folder)


def b64(text):
    return base64.b64encode(b"\0" if text == "\\0" else text.encode()).decode()


def text(b):
    return base64.b64decode(b or "").decode()


class Op:
    """A request as a line of the small language and as etcd's JSON."""

    def __init__(self, line, kind, body):
        self.line, self.kind, self.body = line, kind, body


def with_end(body, end):
    if end != "-":
        body["range_end"] = b64(end)
    return body


def draw_range(rng, revision, in_txn):
    key, end, limit = rng.choice(KEYS), rng.choice(ENDS), rng.choice([0, 0, 0, 1, 2])
    at = rng.choice([0, 0, 0, max(1, revision - rng.randrange(6)), revision + rng.randrange(-20, 3)])
    at = max(at, 0)
    if in_txn and rng.random() < 0.7:
        at = 0
    flags = rng.choice(["-", "-", "-", "k", "c"])
    body = with_end({"key": b64(key), "limit": limit, "revision": at, "keys_only": flags == "k",
                     "count_only": flags == "c"}, end)
    return Op(f"get {key} {end} {limit} {at} {flags}", "request_range", body)


def draw_put(rng):
    key, value, prev = rng.choice(KEYS), rng.choice(VALUES), rng.random() < 0.5
    body = {"key": b64(key), "value": b64(value), "prev_kv": prev}
    return Op(f"put {key} {value} {'p' if prev else '-'}", "request_put", body)


def draw_delete(rng):
    key, end, prev = rng.choice(KEYS), rng.choice(ENDS), rng.random() < 0.5
    body = with_end({"key": b64(key), "prev_kv": prev}, end)
    return Op(f"del {key} {end} {'p' if prev else '-'}", "request_delete_range", body)


def draw_compare(rng, revision):
    target, key, end = rng.choice(TARGETS), rng.choice(KEYS), rng.choice(ENDS)
    result = rng.choice(list(RESULTS))
    body = with_end({"target": target.upper(), "result": RESULTS[result], "key": b64(key)}, end)
    if target == "value":
        operand = rng.choice(VALUES)
        body["value"] = b64(operand)
    else:
        operand = rng.choice([0, 1, 2, 3]) if target == "version" else rng.choice([0, max(0, revision - rng.randrange(8))])
        body[{"version": "version", "create": "create_revision", "mod": "mod_revision"}[target]] = operand
    return f"( {target} {key} {end} {result} {operand} )", body


def draw_txn(rng, revision, depth):
    compares = [draw_compare(rng, revision) for _ in range(rng.choice([0, 1, 1, 1, 2]))]
    branches = []
    for _ in range(2):
        ops = []
        for _ in range(rng.choice([0, 1, 1, 2, 3])):
            kind = rng.random()
            if kind < 0.35:
                ops.append(draw_range(rng, revision, True))
            elif kind < 0.7:
                ops.append(draw_put(rng))
            elif kind < 0.85 or depth >= 3:
                ops.append(draw_delete(rng))
            else:
                ops.append(draw_txn(rng, revision, depth + 1))
        branches.append(ops)
    line = "txn [ " + " ".join([c for c, _ in compares] + ["]"])
    for ops in branches:
        line += " [ " + " ".join([op.line for op in ops] + ["]"])
    body = {"compare": [c for _, c in compares]}
    for name, ops in zip(("success", "failure"), branches):
        body[name] = [{op.kind: op.body} for op in ops]
    return Op(line, "request_txn", body)


def show_kv(kv):
    return ":".join([text(kv.get("key")), kv.get("create_revision", "0"), kv.get("mod_revision", "0"),
                     kv.get("version", "0"), text(kv.get("value"))])


def show_kvs(kvs):
    return "[" + " ".join(show_kv(kv) for kv in kvs) + "]"


def show(kind, answer):
    if "code" in answer:
        return f"error {answer['code']} {answer['error']}"
    revision = answer.get("header", {}).get("revision", "0")
    if kind == "range":
        return (f"get rev={revision} count={answer.get('count', '0')} more={int(answer.get('more', False))} "
                + show_kvs(answer.get("kvs", [])))
    if kind == "put":
        return f"put rev={revision} {show_kv(answer['prev_kv']) if 'prev_kv' in answer else '-'}"
    if kind == "delete_range":
        return f"del rev={revision} deleted={answer.get('deleted', '0')} {show_kvs(answer.get('prev_kvs', []))}"
    if kind == "compact":
        return f"compact rev={revision}"
    parts = []
    for op in answer.get("responses", []):
        (name, body), = op.items()
        parts.append(show(name.removeprefix("response_"), body))
    return f"txn rev={revision} ok={int(answer.get('succeeded', False))} {{ " + "".join(p + " ; " for p in parts) + "}"


def main():
    seed, count = int(sys.argv[1]), int(sys.argv[2])
    rng = random.Random(seed)
    etcd = Etcd()
    revision, compacted = 1, 0
    try:
        for _ in range(count):
            kind = rng.random()
            if kind < 0.3:
                op, path = draw_put(rng), "/v3/kv/put"
            elif kind < 0.5:
                op, path = draw_range(rng, revision, False), "/v3/kv/range"
            elif kind < 0.6:
                op, path = draw_delete(rng), "/v3/kv/deleterange"
            elif kind < 0.98:
                op, path = draw_txn(rng, revision, 1), "/v3/kv/txn"
            else:
                at = max(1, revision - rng.randrange(-1, 20))
                op, path = Op(f"compact {at}", "request_compact", {"revision": at}), "/v3/kv/compaction"
            answer = etcd.call(path, op.body)
            revision = int(answer.get("header", {}).get("revision", revision))
            print(op.line)
            print("= " + show(op.kind.removeprefix("request_"), answer))
    finally:
        etcd.stop()


main()
