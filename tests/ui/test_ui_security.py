"""Who may ask the page's server, and what it takes."""

from __future__ import annotations

import asyncio
import io
import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from yarl import URL

from ui.served import TOKEN, Front, served
from wattpack.errors import UserError
from wattpack.ui.assets import index_page, names
from wattpack.ui.live import check_live
from wattpack.ui.security import check_address, cookie_of, new_token
from wattpack.ui.serving import open_browser, remove_opened


def test_a_foreign_host_is_turned_away_whatever_it_asks(tmp_path: Path) -> None:
    async def test(front: Front) -> None:
        for host in ("evil.example", "evil.example:80", "127.0.0.1.evil.example", "[", "192.0.2.1"):
            status, answer = await front.ask("GET", "/api/runs", headers={"Host": host})
            assert status == 403, host
            assert "expected this server's" in answer["error"]
        for host in (f"localhost:{front.server.port}", "127.0.0.1:9000"):  # the second through a tunnel
            assert (await front.ask("GET", "/api/runs", headers={"Host": host}))[0] == 200

    served(tmp_path, test)


def test_a_page_of_another_origin_is_turned_away(tmp_path: Path) -> None:
    async def test(front: Front) -> None:
        for headers in ({"Origin": "http://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}):
            assert (await front.ask("POST", "/api/runs", {}, headers=headers))[0] == 403, headers
        assert front.desk.runs.runs == {}
        status, _ = await front.ask("GET", "/api/runs", headers={"Origin": front.address})
        assert status == 200

    served(tmp_path, test)


def test_nobody_without_the_token_gets_anything(tmp_path: Path) -> None:
    async def test(front: Front) -> None:
        for path in ("/", "/static/main.js", "/api/runs", "/api/choices", "/api/live", "/openapi.json"):
            assert (await front.ask("GET", path))[0] == 401
            for wrong in ("", "wrong-secret", TOKEN[:-1], TOKEN + "x", "%C3%A4"):
                assert (await front.ask("GET", f"{path}?token={wrong}"))[0] == 401
        assert (await front.ask("POST", "/api/runs", {}))[0] == 401
        assert (await front.ask("GET", "/api/runs", headers={"Authorization": f"Bearer {TOKEN}"}))[0] == 200
        assert (await front.ask("GET", "/api/runs", headers={"Cookie": f"{cookie_of('other-secret')}={TOKEN}"}))[
            0
        ] == 401

    served(tmp_path, test, admitted=False)


@pytest.mark.parametrize("path", ["/", "/map?datacenter=x&trace=y%26z"])
def test_the_token_of_the_address_becomes_a_cookie_and_leaves_the_address(tmp_path: Path, path: str) -> None:
    async def test(front: Front) -> None:
        asked = f"{front.address}{path}{'&' if '?' in path else '?'}token={TOKEN}"
        async with front.session.get(URL(asked, encoded=True), allow_redirects=False) as answer:
            assert (answer.status, answer.headers["Refresh"]) == (200, f"0; url={path}")
            assert TOKEN not in await answer.text()
            cookie = answer.cookies[cookie_of(TOKEN)]
            assert (cookie["httponly"], cookie["samesite"]) == (True, "Strict")
        assert (await front.ask("GET", "/api/runs", headers={"Cookie": f"{cookie_of(TOKEN)}={TOKEN}"}))[0] == 200

    served(tmp_path, test, admitted=False)


def test_two_pages_on_one_machine_have_a_cookie_each() -> None:
    assert cookie_of("one-secret") != cookie_of("two-secret")
    assert new_token() != new_token()
    check_address("127.0.0.1", new_token())


def test_an_address_with_the_token_leads_to_no_other_server(tmp_path: Path) -> None:
    async def test(front: Front) -> None:
        for path in ("//evil.example/x", "/\\evil.example/x"):
            reader, writer = await asyncio.open_connection(front.server.host, front.server.port)
            host = f"127.0.0.1:{front.server.port}"
            writer.write(f"GET {path}?token={TOKEN} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
            answer = (await reader.read()).decode()
            writer.close()
            found = re.search(r"Refresh: 0; url=(\S*)", answer)
            assert found is None or re.match(r"/[^/\\]", found[1]), answer

    served(tmp_path, test, admitted=False)


def test_the_browser_is_started_without_the_token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a program is started with, every user of the machine can list."""
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    folder = tmp_path / "out"
    open_browser(f"http://127.0.0.1:1/?token={TOKEN}", folder)
    (address,) = opened
    assert TOKEN not in address
    file = Path(urlsplit(address).path)
    assert f"url=http://127.0.0.1:1/?token={TOKEN}" in file.read_text()
    assert file.stat().st_mode & 0o777 == 0o600
    remove_opened(folder)
    assert not folder.exists()


def test_a_file_of_the_command_line_that_vanishes_is_no_longer_offered(tmp_path: Path) -> None:
    async def test(front: Front) -> None:
        Path(front.nodes).unlink()
        _, choices = await front.ask("GET", "/api/choices")
        assert front.nodes not in [own["name"] for own in choices["datacenters"]]
        status, answer = await front.ask("POST", "/api/map", {"datacenter": front.nodes, "trace": front.tasks})
        assert status == 400
        assert "cannot be read" in answer["error"]

    served(tmp_path, test)


@pytest.mark.parametrize(
    ("host", "token"),
    [
        *(("0.0.0.0", None), ("192.168.0.1", None), ("example.org", "long-secret"), ("", None)),
        *(("127.0.0.1", "short"), ("127.0.0.1", ""), ("127.0.0.1", "with a space"), ("127.0.0.1", "and#anchor")),
    ],
)
def test_an_address_that_others_reach_needs_a_token_and_a_token_is_no_short_word(host: str, token: str | None) -> None:
    with pytest.raises(UserError, match="expected"):
        check_address(host, token)


def test_on_this_machine_alone_a_new_token_is_made_where_none_is_given() -> None:
    for host in ("127.0.0.1", "::1", "localhost"):
        check_address(host, None)
    check_address("0.0.0.0", "long-secret")


@pytest.mark.parametrize(
    "address", ["x", "ftp://a", "http://", "http://a:x", "http://a b", "http://[::1", "http://a\n"]
)
def test_what_is_no_address_of_a_service_is_refused(address: str) -> None:
    with pytest.raises(UserError, match="expected an address like"):
        check_live(address)


def test_every_answer_forbids_foreign_and_inline_scripts(tmp_path: Path) -> None:
    async def test(front: Front) -> None:
        for path in ("/", "/runs/x", "/map", "/static/main.js", "/api/runs", "/nowhere", "/api/runs/nobody"):
            async with front.session.get(front.address + path) as answer:
                policy = answer.headers["Content-Security-Policy"]
                assert "script-src 'self'" in policy
                assert "unsafe" not in policy
                assert answer.headers["X-Content-Type-Options"] == "nosniff"

    served(tmp_path, test)
    assert "onclick" not in index_page()
    assert "<script>" not in index_page()
    assert "style=" not in index_page()


def test_the_page_loads_nothing_from_elsewhere_and_weighs_less_than_400_kb() -> None:
    files = names()
    assert sum(map(len, files.values())) + len(index_page().encode()) < 400_000
    for name, data in files.items():
        text = data.decode().replace("http://www.w3.org/2000/svg", "")
        assert "http://" not in text, name
        assert "https://" not in text, name


def test_only_files_of_the_page_are_served(tmp_path: Path) -> None:
    async def test(front: Front) -> None:
        assert (await front.ask("GET", "/static/main.js"))[0] == 200
        assert (await front.ask("GET", "/static/chart.js"))[0] == 200  # the report's own
        for name in ("index.html", "app.py", "..%2Fapp.py", "%2e%2e%2fapp.py", "template.html"):
            assert (await front.ask("GET", f"/static/{name}"))[0] == 404, name

    served(tmp_path, test)


@pytest.mark.parametrize(
    ("kind", "name", "data", "said"),
    [
        ("nodes", "a.txt", b"x", "not a CSV file"),
        ("nodes", "", b"x", "not a CSV file"),
        ("other", "a.csv", b"x", "expected nodes or tasks"),
        ("nodes", "a.csv", b"", "a.csv"),
        ("nodes", "a.csv", b"sn,cpu_milli\nx,1\n", "a.csv"),
        ("tasks", "../../b.csv", b"\xff\xfe\x00", "b.csv"),
        (
            "tasks",
            "b.csv",
            b"name,cpu_milli,memory_mib,num_gpu,gpu_milli\nx,-1,1,0,0\n",
            "b.csv, line 2, column cpu_milli",
        ),
    ],
)
def test_an_upload_that_cannot_be_read_is_one_line_and_leaves_nothing(
    tmp_path: Path, kind: str, name: str, data: bytes, said: str
) -> None:
    async def test(front: Front) -> None:
        status, answer = await front.ask("POST", f"/api/uploads?kind={kind}&name={name}", data)
        assert status == 400
        assert said in answer["error"]
        assert "\n" not in answer["error"]
        assert str(front.folder) not in answer["error"]
        assert [file for file in (front.folder / "out").rglob("*") if file.is_file()] == []

    served(tmp_path, test)


def test_an_upload_is_kept_in_the_pages_folder_under_a_plain_name(tmp_path: Path) -> None:
    async def test(front: Front) -> None:
        data = Path(front.nodes).read_bytes()
        name = "..%2F..%2Fmy%20nodes%3B%24(x).csv"
        status, answer = await front.ask("POST", f"/api/uploads?kind=nodes&name={name}", data)
        assert status == 200
        assert answer["name"].endswith("/my_nodes___x_.csv")
        kept = [file for file in front.folder.rglob("*.csv") if file.parent != front.folder]
        assert [file.read_bytes() for file in kept] == [data]
        assert kept[0].is_relative_to(front.folder / "out" / "uploads")
        status, answer = await front.ask("POST", "/api/words", {"datacenter": answer["name"], "policies": ["fgd"]})
        assert f"--datacenter {kept[0]}" in answer["command"].replace("'", "")

    served(tmp_path, test)


def test_a_body_above_its_limit_is_refused_before_it_is_read(tmp_path: Path) -> None:
    async def test(front: Front) -> None:
        status, answer = await front.ask("POST", "/api/words", io.BytesIO(b"x" * ((1 << 20) + 1)))
        assert status == 413
        assert "expected at most" in answer["error"]

    served(tmp_path, test)
