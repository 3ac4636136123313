# Reads requests with Python's own http.server, as the web UI does. On stdin come connections: four bytes of length, then what a client sent on it.
# On stdout goes a line of JSON for each: the requests that were found there, and how many bytes nobody read.
import hashlib, io, json, struct, sys
from http.server import BaseHTTPRequestHandler


class Reader(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def setup(self):
        self.rfile, self.wfile = io.BytesIO(self.request), io.BytesIO()

    def finish(self):
        pass

    def log_message(self, *a):
        pass

    def send_error(self, code, *a, **k):
        self.server["seen"].append({"refused": int(code)})
        super().send_error(code, *a, **k)

    def handle(self):
        super().handle()
        self.server["left"] = len(self.rfile.read())

    def answer(self):
        body = b""
        if self.command not in ("GET", "OPTIONS"):  # of these the web UI reads no body
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server["seen"].append({
            "method": self.command, "target": self.path, "headers": [[k, v] for k, v in self.headers.items()],
            "body": hashlib.sha256(body).hexdigest(),
        })
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = answer


while head := sys.stdin.buffer.read(4):
    found = {"seen": [], "left": 0}
    try:
        Reader(sys.stdin.buffer.read(struct.unpack(">I", head)[0]), ("127.0.0.1", 0), found)
    except Exception as e:
        found["failed"] = repr(e)
    print(json.dumps(found), flush=True)
