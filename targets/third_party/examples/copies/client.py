#!/usr/bin/env python3
"""The client program of the store beside it: a request a line in, an answer a line out."""
import json
import socket
import sys

connection = None
for line in sys.stdin:
    request = json.loads(line)
    answer = {"id": request["id"]}
    try:
        if connection is None:
            host, port = request["address"].rsplit(":", 1)
            timeout = request["timeout_ms"] / 1000
            connection = socket.create_connection((host, int(port)), timeout)
    except OSError as error:  # nothing was sent: it never happened
        answer.update(type="fail", error={"class": "refused", "text": str(error)})
        print(json.dumps(answer), flush=True)
        continue
    try:
        connection.settimeout(request["timeout_ms"] / 1000)
        connection.sendall(line.encode())
        reply = json.loads(connection.makefile().readline())
        if reply["ok"]:
            answer.update(type="ok", value=reply.get("value", request.get("value")))
        else:
            answer.update(type="fail", error={"class": "mismatch"})
    except (OSError, ValueError) as error:  # it may have happened
        answer.update(type="info", error={"class": "unknown", "text": repr(error)})
        connection = None
    print(json.dumps(answer), flush=True)
