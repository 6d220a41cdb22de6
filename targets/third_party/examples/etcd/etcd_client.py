#!/usr/bin/env python3
"""A client program for etcd v3's JSON gateway: one request a line in, one answer a line out.

Whatever is not certain is said as a code, and the description's "errors" say what the code means.
It never sends a request twice: a second attempt would turn a refusal into a write that was made."""
import base64
import http.client
import json
import sys

connection = None


def encoded(text):
    return base64.b64encode(text.encode()).decode()


def post(request, path, body):
    """The answer as a dictionary; raises OSError, HTTPException or Refused."""
    global connection
    timeout = request["timeout_ms"] / 1000
    if connection is None or connection.sock is None:  # the server may have closed it
        host, port = request["address"].rsplit(":", 1)
        fresh = http.client.HTTPConnection(host.strip("[]"), int(port), timeout=timeout)
        try:
            fresh.connect()
        except OSError as error:  # nothing was sent
            raise Refused("refused", str(error))
        connection = fresh
    connection.sock.settimeout(timeout)
    connection.auto_open = 0  # a lost connection is an error, not a reason to send again
    connection.request("POST", path, json.dumps(body))
    answer = connection.getresponse()
    result = json.loads(answer.read())
    if answer.status != 200:
        raise Refused(result.get("error", "HTTP %d" % answer.status), json.dumps(result))
    return result


class Refused(Exception):
    """An answer that is an error: its code, and its text."""


def put(key, value):
    if value is None:
        return {"request_delete_range": {"key": key}}
    return {"request_put": {"key": key, "value": encoded(json.dumps(value))}}


def found(answer):
    """Value and revision of the one key of a range."""
    kvs = answer.get("kvs", [])
    if not kvs:
        return None, 0
    return json.loads(base64.b64decode(kvs[0].get("value", ""))), int(kvs[0]["mod_revision"])


def read(request):
    answer = post(request, "/v3/kv/range", {"key": encoded(request["key"])})
    value, revision = found(answer)
    return {"type": "ok", "value": value, "revision": revision,
            "at": int(answer["header"]["revision"])}


def change(request):
    """A write, delete or cas is one transaction; without a guard nothing is compared."""
    key, value = encoded(request["key"]), request.get("value")
    compare = []
    if "expected" in request:
        compare = [{"key": key, "target": "MOD", "mod_revision": str(request["expected"])}]
    elif request["f"] == "cas" and value[0] is None:
        compare = [{"key": key, "target": "CREATE", "create_revision": "0"}]
    elif request["f"] == "cas":
        compare = [{"key": key, "target": "VALUE", "value": encoded(json.dumps(value[0]))}]
    new = value[1] if request["f"] == "cas" else value
    answer = post(request, "/v3/kv/txn", {"compare": compare, "success": [put(key, new)],
                                          "failure": [{"request_range": {"key": key}}]})
    at = int(answer["header"]["revision"])
    if answer.get("succeeded"):
        return {"type": "ok", "revision": 0 if new is None else at, "at": at}
    now = found(answer["responses"][0]["response_range"])[1]
    kind = "conflict" if "expected" in request else "mismatch"
    return {"type": "fail", "at": at, "error": {"class": kind, "current": now}}


def status(request):
    """Without a term: this API pairs the new leader with the old term for a while."""
    answer = post(request, "/v3/maintenance/status", {})
    members = post(request, "/v3/cluster/member/list", {})["members"]
    names = {member["ID"]: member.get("name") for member in members}
    leader = answer.get("leader")
    role = "leader" if leader == answer["header"]["member_id"] else "follower"
    return {"type": "ok", "value": {"role": role, "leader": names.get(leader, ""),
                                    "applied": int(answer.get("raftAppliedIndex", 0))}}


for line in sys.stdin:
    request = json.loads(line)
    try:
        answer = {"read": read, "status": status}.get(request["f"], change)(request)
    except Refused as error:
        answer = {"error": {"code": error.args[0], "text": error.args[1]}}
    except (OSError, http.client.HTTPException, ValueError) as error:
        code = "timeout" if isinstance(error, TimeoutError) else "reset"
        answer = {"error": {"code": code, "text": repr(error)}}
        connection = None
    print(json.dumps({"id": request["id"], **answer}), flush=True)
