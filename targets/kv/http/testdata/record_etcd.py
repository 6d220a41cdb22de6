#!/usr/bin/env python3
"""Writes etcd's own answers into a file: record_etcd.py gateway.txt (needs etcd in PATH).

A line "METHOD PATH BODY" is a request to a store that was empty before the first one; the "= " line
under it is etcd's answer (status and body, without ids and terms) and is written anew. A "~ " line
says where this store answers otherwise on purpose. Everything else is kept. A watch (watch.txt) has
a "= " line for each line that came within half a second.
"""
import http.client, json, shutil, socket, subprocess, sys, tempfile, time


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def call(port, method, path, body):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    connection.request(method, path, body or None)
    response = connection.getresponse()
    text = response.read().decode()
    connection.close()
    return response.status, text


def watch(port, body):
    with socket.create_connection(("127.0.0.1", port), timeout=0.5) as s:
        s.sendall(f"POST /v3/watch HTTP/1.0\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
        text = b""
        try:
            while piece := s.recv(65536):
                text += piece
        except socket.timeout:
            pass
    head, _, lines = text.decode().partition("\r\n\r\n")
    status = head.split(" ")[1] if head else "200"
    return status, [line for line in lines.split("\n") if line]


def without_ids(text):
    try:
        value = json.loads(text)
    except ValueError:
        return text.strip()
    for name in ("cluster_id", "member_id", "raft_term"):
        value.get("result", value).get("header", {}).pop(name, None)
    return json.dumps(value, separators=(",", ":"))


def main(path):
    folder, port, peer = tempfile.mkdtemp(prefix="record-etcd-"), free_port(), free_port()
    url, peer_url = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{peer}"
    etcd = subprocess.Popen(
        ["etcd", "--data-dir", folder, "--listen-client-urls", url, "--advertise-client-urls", url,
         "--listen-peer-urls", peer_url, "--initial-advertise-peer-urls", peer_url,
         "--initial-cluster", f"default={peer_url}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(100):
            try:
                if "true" in call(port, "GET", "/health", "")[1]:
                    break
            except OSError:
                pass
            time.sleep(0.1)
        out = []
        for line in open(path):
            if line.startswith("= "):
                continue
            out.append(line)
            if line.split(" ")[0] in ("GET", "POST", "PUT", "DELETE", "HEAD"):
                method, target, body = (line.rstrip("\n").split(" ", 2) + [""])[:3]
                if target == "/v3/watch":
                    status, lines = watch(port, body)
                    out += [f"= {status} {without_ids(text)}\n" for text in lines]
                    continue
                status, text = call(port, method, target, body)
                out.append(f"= {status} {without_ids(text)}\n")
        open(path, "w").writelines(out)
    finally:
        etcd.kill()
        etcd.wait()
        shutil.rmtree(folder)


main(sys.argv[1])
