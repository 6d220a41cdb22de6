#!/usr/bin/env python3
"""Faults of etcd's own, for the "faults" of a description: etcd_fault.py begin|end|verify KIND ADDRESS

begin    makes the fault; what it did is printed, and stands in the report
verify   exits 0 while the fault is in force (of one that does not last: once it has happened), 1
         where it is not, 2 where that cannot be told
end      takes it back; also where there is nothing to take back"""
import json
import os
import re
import sys
import urllib.error
import urllib.request

part, kind, address = sys.argv[1:]
NO_SPACE = {"memberID": "0", "alarm": "NOSPACE"}


def post(path, body):
    request = urllib.request.Request("http://%s%s" % (address, path), json.dumps(body).encode())
    try:
        with urllib.request.urlopen(request, timeout=5) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        return json.load(error)


def done(answer, text):
    if "error" in answer:
        sys.exit(answer["error"])
    print(text)


def defragmentations():
    """How many this process has been through."""
    with urllib.request.urlopen("http://%s/metrics" % address, timeout=5) as answer:
        text = answer.read().decode()
    return float(re.search(r"^etcd_disk_backend_defrag_duration_seconds_count (\S+)", text, re.M)[1])


def remember(number):
    with open(kind + ".begun", "w") as file:  # in the node's folder
        file.write(str(number))


def remembered():
    with open(kind + ".begun") as file:
        return float(file.read())


def alarms():
    answer = post("/v3/maintenance/alarm", {"action": "GET"})
    if "error" in answer:
        raise OSError(answer["error"])
    return answer.get("alarms", [])


def cannot_tell(_, error, __):
    print(repr(error), file=sys.stderr, flush=True)
    os._exit(2)


sys.excepthook = cannot_tell

if (part, kind) == ("begin", "compact"):
    revision = int(post("/v3/maintenance/status", {})["header"]["revision"])
    remember(revision)
    answer = post("/v3/kv/compaction", {"revision": str(revision), "physical": True})
    if "has been compacted" in answer.get("error", ""):  # by another node, and further
        answer = {}
    done(answer, "compacted to revision %d" % revision)
elif (part, kind) == ("verify", "compact"):
    answer = post("/v3/kv/range", {"key": "AA==", "revision": str(int(remembered()) - 1),
                                   "serializable": True})
    sys.exit(0 if "has been compacted" in answer.get("error", "") else "older revisions are there")
elif (part, kind) == ("begin", "defragment"):
    remember(defragmentations())
    done(post("/v3/maintenance/defragment", {}), "defragmented")
elif (part, kind) == ("verify", "defragment"):
    sys.exit(0 if defragmentations() > remembered() else "it has not been defragmented since")
elif (part, kind) == ("begin", "no-space"):  # as if the database were full: writes are refused
    done(post("/v3/maintenance/alarm", {"action": "ACTIVATE", **NO_SPACE}), "alarm NOSPACE raised")
elif (part, kind) == ("end", "no-space"):
    for alarm in alarms():
        done(post("/v3/maintenance/alarm", {"action": "DEACTIVATE", **alarm}), "alarm taken back")
elif (part, kind) == ("verify", "no-space"):
    sys.exit(0 if alarms() else "there is no alarm")
else:
    sys.exit("expected begin, end or verify, and compact, defragment or no-space")
