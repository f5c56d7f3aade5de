"""A made-up server in the place of a Prometheus."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

Asked = dict[str, str]
Answer = tuple[int, bytes, dict[str, str]]


@contextmanager
def serving(answer: Callable[[Asked], Answer], slow_s: float = 0.0) -> Iterator[tuple[str, list[Asked]]]:
    """The address, and what was asked so far: the parameters and the headers."""
    asked: list[Asked] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = {key: values[0] for key, values in parse_qs(urlsplit(self.path).query).items()}
            asked.append({**found, "path": urlsplit(self.path).path, **dict(self.headers)})
            status, body, headers = answer(found)
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            for place in range(0, len(body), 8192):
                if slow_s:
                    time.sleep(slow_s)
                try:
                    self.wfile.write(body[place : place + 8192])
                except OSError:
                    return  # the reader has had enough

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def matrix(series: list[tuple[dict[str, str], list[tuple[float, str]]]]) -> Answer:
    result = [{"metric": labels, "values": [list(pair) for pair in values]} for labels, values in series]
    body = {"status": "success", "data": {"resultType": "matrix", "result": result}}
    return 200, json.dumps(body).encode(), {}
