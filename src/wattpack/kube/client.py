"""The calls to the Kubernetes API that the service needs: list, watch, get, bind, and any other by path."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any, TypeVar

import aiohttp
import msgspec
from yarl import URL

from wattpack.errors import RunError, UserError
from wattpack.kube.decode import Skipped, read_object, read_page
from wattpack.kube.exec_program import exec_environment, exec_token
from wattpack.kube.kubeconfig import Access
from wattpack.kube.objects import FAULTS, NODE, POD, Node, Pod

T = TypeVar("T")
PAGE = 1000  # objects per page of a list
LONGEST_LINE = 16 << 20  # bytes of one watch event; etcd allows 1.5 MiB per object
WATCH_S = 10  # the server ends a watch after this long, so that a watch without events is heard of too
SILENCE_S = WATCH_S + 2.0  # a watch that sends nothing for this long has lost its connection
PROGRAM_S = 60.0  # limit for a program that prints a token
NO_ANSWER, UNAUTHORIZED, FORBIDDEN, NOT_FOUND, CONFLICT, TOO_LARGE = 0, 401, 403, 404, 409, 413  # `ApiError.status`
JSON, MERGE_PATCH = "application/json", "application/merge-patch+json"  # content types of what is sent


class ApiError(Exception):
    """The API server answered with an error status, or not at all (NO_ANSWER)."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(f"{status}: {text}" if status else text)
        self.status = status


class Client:
    """One connection pool to one API server. Use inside `async with`."""

    def __init__(self, access: Access, timeout_s: float = 10) -> None:
        self.access, self.timeout_s = access, timeout_s
        self.silence_s = SILENCE_S
        self.session: aiohttp.ClientSession

    async def __aenter__(self) -> Client:
        if self.access.command:
            await self.fetch_token()
        connector = aiohttp.TCPConnector(limit=64, ssl=self.access.context or False)
        self.session = aiohttp.ClientSession(connector=connector, auto_decompress=True)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.session.close()

    async def fetch_token(self) -> None:
        """Run the kubeconfig's program for a token."""
        assert self.access.command is not None
        arguments, environment = exec_environment(self.access.command)
        try:
            program = await asyncio.create_subprocess_exec(
                *arguments, env=environment, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
            )
        except OSError as fault:
            raise UserError(
                f"{arguments[0]}: {fault.strerror}, expected the program that the kubeconfig names"
            ) from None
        try:
            output, errors = await asyncio.wait_for(program.communicate(), PROGRAM_S)
        except TimeoutError:
            program.kill()
            await program.wait()
            raise UserError(f"{arguments[0]}: no token within {PROGRAM_S:g} s") from None
        if program.returncode != 0:
            raise UserError(
                f"{arguments[0]}: ended with {program.returncode}: {errors.decode(errors='replace')[-300:]}"
            )
        self.access.token = exec_token(output, arguments[0])

    async def renew_token(self, status: int) -> bool:
        """Get a new token after status 401, if a program prints them; whether there is one."""
        if status != UNAUTHORIZED or not self.access.command:
            return False
        try:
            await self.fetch_token()
        except UserError as fault:  # at the start this ends the process; a running service tries again later
            raise ApiError(UNAUTHORIZED, str(fault)) from None
        return True

    def headers(self) -> dict[str, str]:
        headers = {"Accept": "application/json", "User-Agent": "wattpack"}
        authorization = self.access.authorization()
        if authorization:
            headers["Authorization"] = authorization
        return headers

    async def call(self, method: str, path: str, body: Any = None, timeout_s: float | None = None) -> bytes:
        """One request; the body of the answer. A PATCH is a JSON merge patch. Raises ApiError."""
        status, text = await self._request(method, path, body, timeout_s)
        # Only reads are sent again: the time limit of a Binding is that of the lease (binding.py).
        if await self.renew_token(status) and method == "GET":
            status, text = await self._request(method, path, body, timeout_s)
        if status >= 400:
            raise ApiError(status, message_of(text))
        return text

    async def _request(self, method: str, path: str, body: Any, timeout_s: float | None) -> tuple[int, bytes]:
        data = None if body is None else msgspec.json.encode(body)
        content = {} if body is None else {"Content-Type": MERGE_PATCH if method == "PATCH" else JSON}
        limit = aiohttp.ClientTimeout(total=timeout_s or self.timeout_s)
        url = URL(self.access.server + path, encoded=True)
        try:
            headers = {**self.headers(), **content}
            async with self.session.request(method, url, data=data, headers=headers, timeout=limit) as answer:
                return answer.status, await answer.read()
        except TimeoutError:
            raise ApiError(NO_ANSWER, f"{method} {path}: no answer within {limit.total:g} s") from None
        except (aiohttp.ClientError, OSError) as fault:
            raise ApiError(NO_ANSWER, f"{method} {path}: {fault or type(fault).__name__}") from None

    async def list_nodes(self) -> tuple[list[Node], str]:
        """All nodes, and the resource version to watch from."""
        return await self.list_all("/api/v1/nodes", NODE)

    async def list_pods(self) -> tuple[list[Pod], str]:
        return await self.list_all("/api/v1/pods", POD)

    async def list_all(self, path: str, decoder: msgspec.json.Decoder[T]) -> tuple[list[T], str]:
        """All objects of a path, and their version. Raises ApiError if one of them cannot be decoded."""

        def read(text: bytes) -> T:
            thing = read_object(decoder, text)
            if isinstance(thing, Skipped):
                name = "/".join(filter(None, thing.key)) or "an object without a name"
                raise ApiError(NO_ANSWER, f"GET {path}: {name} {thing.why}")
            return thing

        return await self.list_objects(path, read)

    async def list_objects(self, path: str, read: Callable[[bytes], T]) -> tuple[list[T], str]:
        """All objects of a path, page by page, each read by `read`, and the resource version to watch from."""
        found: list[T] = []
        token = ""
        while True:
            text = await self.call("GET", f"{path}?limit={PAGE}" + (f"&continue={token}" if token else ""))
            try:
                page = read_page(text)
            except FAULTS as fault:  # the answer of a proxy, or of another server
                raise ApiError(NO_ANSWER, f"GET {path}: {fault}, expected a list of the Kubernetes API") from None
            found += [read(one) for one in page.items or ()]
            token = page.metadata.continue_
            if not token:
                return found, page.metadata.resource_version

    async def watch(self, path: str, version: str) -> AsyncIterator[bytes]:
        """Lines of a watch from a resource version on, one event each, until the server closes it after `WATCH_S`.

        Raises TimeoutError if nothing was sent for `silence_s`: a connection may be dead and look open.
        """
        url = f"{path}?watch=1&allowWatchBookmarks=true&timeoutSeconds={WATCH_S}&resourceVersion={version}"
        limit = aiohttp.ClientTimeout(total=None, sock_connect=self.timeout_s, sock_read=self.silence_s)
        address = URL(self.access.server + url, encoded=True)
        for attempt in range(2):
            async with self.session.get(address, headers=self.headers(), timeout=limit) as answer:
                if attempt == 0 and await self.renew_token(answer.status):
                    continue
                if answer.status >= 400:
                    raise ApiError(answer.status, message_of(await answer.read()))
                yield b""  # the watch is established
                rest = b""
                async for piece in answer.content.iter_any():
                    *lines, rest = (rest + piece).split(b"\n")
                    for line in lines:
                        if line:
                            yield line
                    if len(rest) > LONGEST_LINE:
                        raise ApiError(TOO_LARGE, f"GET {path}: an event of more than {LONGEST_LINE} bytes")
                return

    async def get_pod(self, namespace: str, name: str) -> Pod:
        """Raises ApiError, also for a pod that cannot be decoded."""
        pod = read_object(POD, await self.call("GET", f"/api/v1/namespaces/{namespace}/pods/{name}"))
        if isinstance(pod, Skipped):
            raise ApiError(NO_ANSWER, pod.why)
        return pod

    async def bind(
        self, namespace: str, name: str, uid: str, node: str, annotations: dict[str, str], timeout_s: float
    ) -> None:
        """Bind a pod; the same call merges the annotations into it. It fails if the pod has another uid.

        The API server is given the same time: what it has not done by then it does not do.
        """
        body = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": name, "namespace": namespace, "uid": uid, "annotations": annotations},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        }
        path = f"/api/v1/namespaces/{namespace}/pods/{name}/binding?timeout={max(1, round(1000 * timeout_s))}ms"
        await self.call("POST", path, body, timeout_s)

    async def check(self) -> None:
        """Raise a clear error if the server cannot be reached or denies access."""
        try:
            await self.call("GET", "/api/v1/nodes?limit=1")
        except ApiError as fault:
            raise RunError(f"{self.access.server}: {fault}") from None


def message_of(text: bytes) -> str:
    """The message of a Status object, or the beginning of the text."""
    try:
        return str(msgspec.json.decode(text)["message"])
    except (msgspec.DecodeError, KeyError, TypeError):
        return text[:200].decode(errors="replace")
