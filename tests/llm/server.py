#!/usr/bin/env python3
"""A service that speaks chat completions, well or badly.

    server.py LOG [CERTIFICATE]

Listens on a free port of the loopback interface, prints the port, and ends
when its standard input does. What a request gets is in its path:
/BEHAVIOUR/NAME/v1/chat/completions, where NAME only tells requests apart.
"BEHAVIOUR-N" behaves so N times and well from then on. LOG gets each request
as a line of JSON. With a certificate (and key, PEM) it speaks TLS.
"""
import json
import os
import re
import socketserver
import ssl
import sys
import threading
import time
from email.utils import formatdate

counts = {}
lock = threading.Lock()
log = open(sys.argv[1], "a")


def body(text, usage=True, finish="stop", model="served"):
    d = {"model": model, "choices": [{"index": 0, "finish_reason": finish,
         "message": {"role": "assistant", "content": text}}]}
    if usage:
        d["usage"] = {"prompt_tokens": 11, "completion_tokens": 7}
    return d


def chunk(text, finish=None, **more):
    return {"model": "served", "choices": [
        {"index": 0, "delta": {"content": text}, "finish_reason": finish}],
        **more}


class Handler(socketserver.StreamRequestHandler):
    def head(self, status=200, kind="application/json", **headers):
        lines = ["HTTP/1.1 %d Some" % status, "Content-Type: " + kind,
                 "Connection: close"]
        lines += ["%s: %s" % (k.replace("_", "-"), v)
                  for k, v in headers.items()]
        self.wfile.write(("\r\n".join(lines) + "\r\n\r\n").encode())

    def send(self, data, status=200, kind="application/json", **headers):
        data = data if isinstance(data, bytes) else (
            data if isinstance(data, str) else json.dumps(data)).encode()
        self.head(status, kind, Content_Length=len(data), **headers)
        self.wfile.write(data)

    def stream(self, events, done=True, head=True):
        if head:
            self.head(kind="text/event-stream; charset=utf-8")
        for e in events:
            e = e if isinstance(e, str) else json.dumps(e)
            self.wfile.write(("data: %s\n\n" % e).encode())
            self.wfile.flush()
        if done:
            self.wfile.write(b"data: [DONE]\n\n")

    def good(self, text=None, usage=True, finish="stop"):
        text = text if text is not None else "echo: " + self.last
        if not self.request_json.get("stream"):
            return self.send(body(text, usage, finish))
        half = len(text) // 2
        events = [chunk(""), chunk(text[:half]), chunk(text[half:]),
                  chunk("", finish)]
        if usage:
            events.append({"choices": [], "usage": {
                "prompt_tokens": 11, "completion_tokens": 7}})
        self.stream(events)

    def read(self):
        start = self.rfile.readline().decode("latin-1").split()
        if start[:1] != ["POST"] or len(start) < 3:
            return False  # TLS, or nothing
        self.path = start[1]
        if self.path.startswith("/early/"):
            return False  # hangs up on a request that is on its way
        self.headers = {}
        while True:
            line = self.rfile.readline().decode("latin-1").strip()
            if not line:
                break
            k, colon, v = line.partition(":")
            if not colon:
                return False
            self.headers[k.lower()] = v.strip()
        raw = self.rfile.read(int(self.headers.get("content-length", 0)))
        try:
            self.request_json = json.loads(raw)
        except ValueError:
            return False  # something else than HTTP
        self.last = self.request_json["messages"][-1]["content"]
        self.key = self.headers.get("authorization", "")[len("Bearer "):]
        with lock:
            log.write(json.dumps({"path": self.path, "headers": self.headers,
                                  "body": self.request_json}) + "\n")
            log.flush()
        return True

    def handle(self):
        try:
            if not self.read():
                return
            name = self.path.split("/")[1]
            with lock:
                n = counts[self.path] = counts.get(self.path, 0) + 1
            m = re.fullmatch(r"(.*)-(\d+)", name)
            if m:
                name = m.group(1)
            if m and n > int(m.group(2)):
                name = "good"
            getattr(self, "do_" + name)()
        except (BrokenPipeError, ConnectionResetError, ssl.SSLError):
            pass

    def do_good(self):
        self.good()

    # --- statuses
    def do_429(self):
        self.send({"error": {"message": "slow down"}}, 429)

    def do_429after(self):
        self.send({"error": {"message": "slow down"}}, 429, Retry_After=1)

    def do_429date(self):
        self.send("", 429, Retry_After=formatdate(time.time() + 3, usegmt=True))

    def do_429long(self):
        self.send("", 429, Retry_After=86400)

    def do_500(self):
        self.send("<html>\nbroken\x1b[31m</html>", 500, "text/html")

    def do_503(self):
        self.send({"message": "busy"}, 503, Retry_After=1)

    def do_400(self):
        self.send({"error": {"message": "max_tokens is not supported"}}, 400)

    def do_404(self):
        self.send({"error": "no such model"}, 404)

    def do_204(self):
        self.head(204)

    def do_redirect(self):
        self.send("", 302, Location="/good/elsewhere/v1/chat/completions?k=" +
                  self.key)

    # --- the key comes back
    def do_echo401(self):
        self.send({"error": {"message": "bad key " + self.key}}, 401)

    def do_echoraw(self):
        self.send("key '%s', %s" % (self.key, self.key.replace("/", "\\/")),
                  403, "text/plain")

    def do_echocut(self):
        self.send("x" * 250 + self.key, 400, "text/plain")

    def do_echobad(self):
        self.send({"error": {"message": self.key}})

    def do_echoreply(self):
        self.send(body("it is %s!" % self.key, model=self.key))

    # --- cut and malformed
    def do_close(self):
        self.head(Content_Length=1000)
        self.wfile.write(b'{"choices": [')

    def do_nothing(self):
        pass

    def do_nohttp(self):
        self.wfile.write(b"220 mail.example ESMTP\r\n")

    def do_cut(self):
        self.send(json.dumps(body("text"))[:-9])

    def do_choices(self):
        self.send({"choices": "none"})

    def do_choice(self):
        self.send({"choices": ["none"]})

    def do_message(self):
        self.send({"choices": [{"message": [1]}]})

    def do_content(self):
        self.send({"choices": [{"message": {"content": 5}}]})

    def do_list(self):
        self.send([1])

    def do_empty(self):
        self.send({"choices": []})

    def do_null(self):
        self.send({"choices": [{"message": {"content": None}}],
                   "usage": {"prompt_tokens": 5, "completion_tokens": 3}})

    def do_nul(self):
        self.send('{"choices": [{"message": {"content": "a\\u0000b"}}]}')

    def do_thought(self):
        self.send({"choices": [{"finish_reason": "length", "message": {
            "content": "", "reasoning_content": "hm" * 50}}]})

    def do_filter(self):
        self.send(body("", finish="content_filter"))

    def do_chunks(self):
        self.head(Transfer_Encoding="chunked")
        self.wfile.write(b"zz\r\nno size\r\n")

    def do_streamjson(self):
        self.stream([chunk("a"), "{\"choices\": ["])

    def do_streamtypes(self):
        self.stream([chunk("a"), {"choices": 5}])

    def do_streamcut(self):
        self.stream([chunk("a"), chunk("b")], done=False)

    def do_streamerror(self):
        self.stream([chunk("a"), {"error": {"message": "lost " + self.key}}])

    # --- odd and good
    def do_nousage(self):
        self.good("12345", usage=False)

    def do_badusage(self):
        d = body("12345")
        d["usage"] = {"prompt_tokens": "11", "completion_tokens": -7}
        self.send(d)

    def do_length(self):
        self.good("cut", finish="length")

    def do_oddfinish(self):
        self.good("odd", finish="tool_calls")

    def do_nodone(self):
        self.stream([chunk("whole", "stop")], done=False)

    def do_ignores(self):
        self.send(body("in one piece"))

    def do_unicode(self):
        self.good("gr\u00fc\u00df \u4e16\u754c \U0001f30a \"\\")

    def do_pieces(self):
        """Cut anywhere, every line end, comments, data in several lines."""
        text = json.dumps(chunk("\u4e16\U0001f30a"), ensure_ascii=False)
        raw = (": hello\r\n\r\ndata: " + text + "\r\rid: 7\nevent: x\ndata:" +
               json.dumps(chunk("-")) + "\n\n" + "data: {\"choices\": [{" +
               "\"delta\": {\"content\":\ndata: \"!\"}}]}\r\n\r\n").encode()
        self.head(kind="Text/Event-Stream")
        for i in range(len(raw)):
            self.wfile.write(raw[i:i + 1])
            self.wfile.flush()
        self.stream([chunk("", "stop")], head=False)

    # --- too much and too slow
    def do_huge(self):
        self.send(body("x" * (8 << 20)))

    def do_hugeraw(self):
        self.head()
        while True:
            self.wfile.write(b" " * 65536)

    def do_hugestream(self):
        self.head(kind="text/event-stream")
        while True:
            self.wfile.write(("data: %s\n\n" %
                              json.dumps(chunk("word " * 200))).encode())

    def do_hugeline(self):
        self.head(kind="text/event-stream")
        while True:
            self.wfile.write(b"data: " + b"x" * 65536)

    def do_words(self):
        """Goes on after max_tokens, a token a piece."""
        self.head(kind="text/event-stream")
        while True:
            self.wfile.write(("data: %s\n\n" % json.dumps(chunk("w "))).encode())

    def do_thoughts(self):
        self.head(kind="text/event-stream")
        while True:
            d = {"choices": [{"delta": {"reasoning_content": "w "}}]}
            self.wfile.write(("data: %s\n\n" % json.dumps(d)).encode())

    def do_drip(self):
        """A byte now and then, whole in the end."""
        data = json.dumps(body("slow")).encode()
        self.head(Content_Length=len(data))
        for i in range(len(data)):
            self.wfile.write(data[i:i + 1])
            self.wfile.flush()
            time.sleep(0.002)

    def do_dripforever(self):
        self.head(kind="text/event-stream")
        while True:
            self.wfile.write(b": still here\n\n")
            self.wfile.flush()
            time.sleep(0.01)

    def do_hang(self):
        time.sleep(600)

    def do_hangbody(self):
        self.head(Content_Length=1000)
        self.wfile.write(b'{"choices": [')
        self.wfile.flush()
        time.sleep(600)


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 64

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


server = Server(("127.0.0.1", 0), Handler)
if len(sys.argv) > 2:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(sys.argv[2])
    server.socket = tls.wrap_socket(server.socket, server_side=True)
os.write(1, b"%d\n" % server.server_address[1])
threading.Thread(target=server.serve_forever, daemon=True).start()
sys.stdin.read()
os._exit(0)
