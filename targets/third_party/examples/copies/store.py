#!/usr/bin/env python3
"""A broken store: whichever node is asked decides, and tells the others afterwards.

    store.py ADDRESS PORT PEER,PEER,…

One JSON object a line: {"f":"read","key":…}, {"f":"write","key":…,"value":…},
{"f":"cas","key":…,"value":[old,new]}, and {"f":"copy",…} from a peer."""
import json
import queue
import socket
import socketserver
import sys
import threading

data = {}
lock = threading.Lock()


class Peer(threading.Thread):
    """Copies are sent in order, one after another, for as long as the peer takes them."""

    def __init__(self, address):
        super().__init__(daemon=True)
        host, port = address.rsplit(":", 1)
        self.address = host, int(port)
        self.copies = queue.Queue()
        self.start()

    def run(self):
        while True:
            copy = self.copies.get()
            try:
                with socket.create_connection(self.address, timeout=1) as connection:
                    connection.sendall(json.dumps(copy).encode() + b"\n")
                    connection.makefile().readline()
            except OSError:
                pass  # it will hear of the next one


class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        for line in self.rfile:
            answer = decide(json.loads(line))
            self.wfile.write(json.dumps(answer).encode() + b"\n")


def decide(request):
    key, value = request["key"], request.get("value")
    with lock:
        if request["f"] == "read":
            return {"ok": True, "value": data.get(key)}
        if request["f"] == "cas":
            if data.get(key) != value[0]:
                return {"ok": False}
            value = value[1]
        data[key] = value
        if request["f"] != "copy":
            for peer in peers:
                peer.copies.put({"f": "copy", "key": key, "value": value})
        return {"ok": True}


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 128


peers = [Peer(peer) for peer in sys.argv[3].split(",") if peer]
Server((sys.argv[1], int(sys.argv[2])), Handler).serve_forever()
