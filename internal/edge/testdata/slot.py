# A slot on Python's own http.server, as the web UI is one: it reads no body on GET, and says on stdout what it took for a request.
import json, sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Slot(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *a):
        pass

    def log_error(self, *a):
        print(json.dumps({"bad": self.raw_requestline.decode("latin-1")}), flush=True)

    def answer(self):
        body = b""
        if self.command not in ("GET", "OPTIONS"):
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        print(json.dumps({"line": self.requestline, "headers": [[k, v] for k, v in self.headers.items()], "body": body.decode("latin-1")}), flush=True)
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = answer


server = ThreadingHTTPServer(("127.0.0.1", 0), Slot)
print(json.dumps({"port": server.server_port}), flush=True)
server.serve_forever()
