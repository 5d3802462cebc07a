"""As much of the Hugging Face hub as it takes to upload a model and to download it again."""

import base64
import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

COMMIT = "b" * 40


class Hub:
    """A server on this machine that remembers what was uploaded."""

    def __init__(self) -> None:
        self.created: list[str] = []
        self.files: dict[str, bytes] = {}
        self.message = ""
        self.tokens: set[str | None] = set()
        self.unknown: list[str] = []

    def __enter__(self) -> Self:
        hub = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: Any) -> None:
                pass

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                hub.post(self, body)

            def do_GET(self) -> None:
                hub.get(self)

            do_HEAD = do_GET  # noqa: N815

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()

    def post(self, request: BaseHTTPRequestHandler, body: bytes) -> None:
        path = request.path
        if path == "/api/repos/create":
            values = json.loads(body)
            self.created.append("/".join(filter(None, [values.get("organization"), values["name"]])))
            self.tokens.add(request.headers.get("Authorization"))
            answer(request, {"url": f"{self.address}/somebody/reviews"})
        elif path == "/api/validate-yaml":
            answer(request, {"errors": [], "warnings": []})
        elif "/preupload/" in path:
            files = json.loads(body)["files"]
            found = [{"path": file["path"], "uploadMode": "regular", "shouldIgnore": False} for file in files]
            answer(request, {"files": found})
        elif "/commit/" in path:
            self.tokens.add(request.headers.get("Authorization"))
            for line in body.splitlines():
                item = json.loads(line)
                if item["key"] == "header":
                    self.message = item["value"]["summary"]
                else:
                    self.files[item["value"]["path"]] = base64.b64decode(item["value"]["content"])
            url = f"{self.address}/somebody/reviews/commit/{COMMIT}"
            answer(request, {"success": True, "commitOid": COMMIT, "commitUrl": url, "hookOutput": ""})
        else:
            self.unknown.append(path)
            request.send_error(404)

    def get(self, request: BaseHTTPRequestHandler) -> None:
        path, name = request.path.partition("?")[0], request.path.rsplit("/", 1)[-1]
        if path.startswith("/api/models/somebody/reviews/tree/"):
            entries = [{"type": "file", "path": n, "size": len(c), "oid": sha(c)} for n, c in self.files.items()]
            answer(request, entries)
        elif path.startswith("/api/models/somebody/reviews"):
            siblings = [{"rfilename": n} for n in self.files]
            answer(request, {"id": "somebody/reviews", "sha": COMMIT, "siblings": siblings, "private": False})
        elif path.startswith("/somebody/reviews/resolve/") and name in self.files:
            content = self.files[name]
            headers = {"ETag": f'"{sha(content)}"', "X-Repo-Commit": COMMIT}
            answer(request, content, headers)
        else:
            self.unknown.append(request.path)
            request.send_error(404)


def answer(request: BaseHTTPRequestHandler, content: Any, headers: dict[str, str] | None = None) -> None:
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    request.send_response(200)
    kind = "application/octet-stream" if isinstance(content, bytes) else "application/json"
    for name, value in {"Content-Type": kind, "Content-Length": str(len(body)), **(headers or {})}.items():
        request.send_header(name, value)
    request.end_headers()
    if request.command != "HEAD":
        request.wfile.write(body)


def sha(content: bytes) -> str:
    return hashlib.sha1(content).hexdigest()
