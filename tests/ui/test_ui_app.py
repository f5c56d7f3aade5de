"""The page's server: runs from start to end, and questions; whatever is sent, it answers."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

import wattpack as wp
from cli.files import write_timed_tasks
from ui.served import TOKEN, Front, served
from wattpack.cli import main
from wattpack.ui.app import new_app, new_desk
from wattpack.ui.openapi import OPENAPI

pytestmark = pytest.mark.compiled


def asked(front: Front, **more: Any) -> dict[str, Any]:
    return {"datacenter": front.nodes, "traces": [front.tasks], "policies": ["pwr"], "seeds": 1, **more}


def test_a_run_is_the_command_that_it_shows_and_has_the_numbers_of_the_python_that_it_shows(tmp_path: Path) -> None:
    async def test(front: Front) -> None:
        status, run = await front.ask("POST", "/api/runs", asked(front))
        assert (status, run["state"]) == (200, "running")
        ended = await front.ended(run["id"])
        assert (ended["state"], ended["done"], ended["all"]) == ("done", 3, 3), ended  # and kube: nodes of one's own
        assert ended["command"].split()[:4] == ["wattpack", "compare", "--datacenter", front.nodes]
        assert set(ended["files"]) == {"report.html", "summary.csv", "experiment.json"}
        found: dict[str, Any] = {}
        exec(ended["python"].replace("report.html", str(tmp_path / "report.html")), found)
        found["comparison"].save_summary(tmp_path / "summary.csv")
        _, shown = await front.ask("GET", f"/api/runs/{run['id']}/files/summary.csv")
        assert shown == (tmp_path / "summary.csv").read_bytes()
        _, results = await front.ask("GET", f"/api/runs/{run['id']}/results")
        assert results["kind"] == "curves"
        assert results["data"] == embedded(tmp_path / "report.html")  # one payload: the report's
        async with front.session.get(f"{front.address}/api/runs/{run['id']}/files/report.html") as answer:
            assert answer.headers["Content-Security-Policy"].startswith("sandbox")

    served(tmp_path, test)


def test_gpus_of_a_power_file_run_and_are_asked_about_with_its_watts(tmp_path: Path) -> None:
    nodes, power = tmp_path / "own.csv", tmp_path / "own.toml"
    nodes.write_text("sn,cpu_milli,memory_mib,gpu,model\na,96000,393216,8,Own\n")
    power.write_text('profile = "measured"\n[gpu.Own]\nidle_w = 20\nmax_w = 200\n')

    async def test(front: Front) -> None:
        _, offered = await front.ask("GET", "/api/choices")
        laid = ["measured+own", "paper+own", "linear+own", "concave+own"]
        assert offered["profiles"] == [*laid, "paper", "linear", "concave", "measured"]
        for profile, options in (("measured+own", ["--profile", "measured"]), ("linear+own", ["--profile", "linear"])):
            words = asked(front, datacenter=str(nodes), profile=profile)
            _, run = await front.ask("POST", "/api/runs", words)
            ended = await front.ended(run["id"])
            assert ended["state"] == "done", ended
            assert " ".join([*options, "--power", str(power)]) in ended["command"]
            found: dict[str, Any] = {}
            exec(ended["python"].replace("report.html", str(tmp_path / "report.html")), found)
            found["comparison"].save_summary(tmp_path / "summary.csv")
            _, shown = await front.ask("GET", f"/api/runs/{run['id']}/files/summary.csv")
            assert shown == (tmp_path / "summary.csv").read_bytes()
            assert f",{profile}," in shown.decode()
        about = {"datacenter": str(nodes), "trace": front.tasks, "policy": "fgd"}
        status, _ = await front.ask("POST", "/api/map", about)
        assert status == 200
        status, told = await front.ask("POST", "/api/map", {**about, "profile": "paper"})
        assert (status, "unknown GPU model 'Own'" in json.dumps(told)) == (400, True)

    served(tmp_path, test, datacenters=[str(nodes)], power=power)


@pytest.mark.parametrize("profile", ["measured+own", None])
def test_a_run_with_a_power_file_says_on_a_page_without_it_how_to_start_the_page(
    tmp_path: Path, profile: str | None
) -> None:
    power = tmp_path / "own.toml"
    power.write_text('profile = "measured"\n[node]\nbase_w = 80\n')
    made: dict[str, str] = {}
    own = {} if profile is None else {"profile": profile}

    async def with_file(front: Front) -> None:
        _, run = await front.ask("POST", "/api/runs", asked(front, bound=True, **own))
        assert (await front.ended(run["id"]))["state"] == "done"
        status, _ = await front.ask("GET", f"/api/runs/{run['id']}/results")
        assert status == 200
        made["id"] = run["id"]

    async def without(front: Front) -> None:
        said = "profile 'measured+own' is of a power file (own), expected the page of wattpack ui --power FILE"
        about = {"datacenter": front.nodes, "trace": front.tasks, "policy": "fgd", "profile": "measured+own"}
        for answer in (
            await front.ask("GET", f"/api/runs/{made['id']}/results"),
            await front.ask("POST", "/api/map", about),
        ):
            assert answer[0] == 400
            assert said in json.dumps(answer[1])

    served(tmp_path, with_file, power=power)
    served(tmp_path, without)


def embedded(report: Path) -> Any:
    """The data in a report."""
    found = re.search(r'id="data">(.*?)</script>', report.read_text(), re.DOTALL)
    assert found is not None
    return json.loads(found[1])


def test_the_python_of_a_run_in_time_runs(tmp_path: Path) -> None:
    async def test(front: Front) -> None:
        more = {"kind": "simulate", "traces": ["default"], "load": 0.5, "days": 0.01, "patience": "2h", "sleep": "on"}
        _, told = await front.ask("POST", "/api/words", asked(front, **more))
        found: dict[str, Any] = {}
        exec(told["python"], found)
        assert found["run"].numbers.kwh > 0

    served(tmp_path, test)


def test_a_run_in_time_has_the_numbers_of_simulate(tmp_path: Path) -> None:
    async def test(front: Front) -> None:
        more = {"kind": "simulate", "traces": ["default"], "load": 0.5, "days": 0.02, "carbon": "DEU", "queue": "fifo"}
        more |= {"sleep": "on", "cap": "T4=0.8"}
        status, run = await front.ask("POST", "/api/runs", asked(front, **more))
        assert status == 200
        ended = await front.ended(run["id"])
        assert ended["state"] == "done", ended
        words = ended["command"].split()
        main([*words[1 : words.index("--out")], "--out", str(tmp_path / "own")])
        _, shown = await front.ask("GET", f"/api/runs/{run['id']}/files/time.csv")
        assert shown == (tmp_path / "own" / "time.csv").read_bytes()
        _, results = await front.ask("GET", f"/api/runs/{run['id']}/results")
        assert results["data"] == embedded(tmp_path / "own" / "report.html")
        status, figure = await front.ask("GET", f"/api/runs/{run['id']}/figures/0.svg")
        assert (status, figure[:5]) == (200, b"<?xml")
        assert figure.count(b'<g id="axes_') >= 4  # power, against FGD, GPUs in use, nodes asleep

    async def as_results(front: Front) -> None:
        """The folder of the command line has the same curves and numbers."""
        run = next(run for run in (await front.ask("GET", "/api/runs"))[1] if run["kind"] == "results")
        _, shown = await front.ask("GET", f"/api/runs/{run['id']}/results")
        assert shown["kind"] == "time"
        assert shown["data"] == embedded(tmp_path / "own" / "report.html")
        assert "CO2" in shown["tables"]
        status, figure = await front.ask("GET", f"/api/runs/{run['id']}/figures/0.png")
        assert (status, figure[:4]) == (200, b"\x89PNG")

    served(tmp_path, test)
    served(tmp_path, as_results, results=[tmp_path / "own"])


def test_tasks_of_a_file_run_at_their_own_times(tmp_path: Path) -> None:
    timed = write_timed_tasks(tmp_path)

    async def test(front: Front) -> None:
        _, run = await front.ask("POST", "/api/runs", asked(front, kind="simulate", traces=[timed]))
        ended = await front.ended(run["id"])
        assert ended["state"] == "done", ended
        assert "--seeds" not in ended["command"]
        _, results = await front.ask("GET", f"/api/runs/{run['id']}/results")
        assert results["kind"] == "time"

    served(tmp_path, test, traces=[timed])


def test_a_run_that_the_command_refuses_ends_with_the_commands_own_line(tmp_path: Path, capsys: Any) -> None:
    async def test(front: Front) -> None:
        _, run = await front.ask("POST", "/api/runs", asked(front, kind="simulate", days=1.0))
        ended = await front.ended(run["id"])
        assert ended["state"] == "refused"
        words = ended["command"].split()
        with pytest.raises(SystemExit):
            main([*words[1 : words.index("--out")], "--out", str(tmp_path / "own")])
        assert capsys.readouterr().err == f"wattpack: {ended['line']}\n"

    served(tmp_path, test)


def test_a_cancelled_run_ends_and_a_later_server_still_knows_it(tmp_path: Path) -> None:
    ids = []

    async def cancel(front: Front) -> None:
        _, run = await front.ask("POST", "/api/runs", asked(front, datacenter="alibaba2023", seeds=300))
        ids.append(run["id"])
        assert (await front.ask("POST", f"/api/runs/{run['id']}/cancel", {}))[0] == 200
        ended = await front.ended(run["id"])
        assert ended["state"] == "cancelled"
        process = front.desk.runs.get(run["id"]).process
        assert process is not None
        assert process.returncode is not None

    async def later(front: Front) -> None:
        status, run = await front.ask("GET", f"/api/runs/{ids[0]}")
        assert (status, run["state"]) == (200, "cancelled")
        shutil.rmtree(front.folder / "out" / ids[0])
        status, run = await front.ask("GET", f"/api/runs/{ids[0]}")
        assert run["state"] == "gone"
        status, answer = await front.ask("GET", f"/api/runs/{ids[0]}/results")
        assert status == 400
        assert "is gone" in answer["error"]
        assert (await front.ask("DELETE", f"/api/runs/{ids[0]}"))[0] == 200
        assert (await front.ask("GET", "/api/runs"))[1] == []

    served(tmp_path, cancel)
    served(tmp_path, later)


def test_a_server_that_ends_takes_its_runs_along(tmp_path: Path) -> None:
    processes: list[Any] = []

    async def test(front: Front) -> None:
        _, run = await front.ask("POST", "/api/runs", asked(front, datacenter="alibaba2023", seeds=300))
        processes.append(front.desk.runs.get(run["id"]).process)

    served(tmp_path, test)
    assert processes[0].returncode is not None


def test_a_results_folder_of_the_command_line_is_shown_with_its_figures(tmp_path: Path) -> None:
    async def first(front: Front) -> None:
        wp.compare(front.nodes, front.tasks, ["pwr"], seeds=1, out=tmp_path / "own")

    async def test(front: Front) -> None:
        _, (run,) = await front.ask("GET", "/api/runs")
        assert (run["kind"], run["state"], run["done"]) == ("results", "done", 2)
        status, results = await front.ask("GET", f"/api/runs/{run['id']}/results")
        assert (status, results["kind"]) == (200, "curves")
        for kind, start in (("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")):
            status, figure = await front.ask("GET", f"/api/runs/{run['id']}/figures/0.{kind}")
            assert (status, figure[: len(start)]) == (200, start)

    served(tmp_path, first)
    served(tmp_path, test, results=[tmp_path / "own"])


@pytest.mark.parametrize(
    ("path", "body", "said"),
    [
        ("/api/runs", b"", "Input data was truncated"),
        ("/api/runs", b"[" * 5000, "Expected `object`"),
        ("/api/runs", {"nosuch": 1}, "unknown field"),
        ("/api/runs", {"seeds": 0}, "seeds"),
        ("/api/runs", {"traces": []}, "traces"),
        ("/api/runs", {"datacenter": "/etc/passwd"}, "not one of this page's"),
        ("/api/runs", {"traces": ["../x.csv"]}, "not one of this page's"),
        ("/api/runs", {"policies": ["nosuch"]}, "nosuch"),
        ("/api/runs", {"profile": "nosuch"}, "expected one of paper"),
        ("/api/runs", {"kind": "simulate", "carbon": "/etc/passwd"}, "expected a country"),
        ("/api/words", {"kind": "simulate", "sleep": "x" * 301}, "sleep"),
        ("/api/runs", {"kind": "simulate", "price": "prices.csv"}, "expected a number"),
        ("/api/words", {"policies": ["--plugin=x.py"]}, "expected"),
        ("/api/map", {"policy": "nosuch"}, "nosuch"),
        ("/api/map", {"up_to": 9}, "up_to"),
        ("/api/why", {"task": "0"}, "expected a name or a number from 1"),
        ("/api/why", {"task": "99999999999"}, "expected a name or a number from 1"),
        ("/api/ask", {}, "0 of task, pod and tasks"),
        ("/api/ask", {"task": {"gpus": 1.5}}, "expected a share below 1 or a whole number"),
        ("/api/ask", {"task": {"model": "nosuch"}}, "expected one with known watts"),
        ("/api/ask", {"pod": "a: [}"}, "expected YAML of a pod"),
        ("/api/ask", {"pod": "kind: Pod"}, "no containers"),
        ("/api/ask", {"pod": "x"}, "holds no pod"),
        ("/api/ask", {"task": {}, "come": ["many"]}, "many"),
        ("/api/ask", {"tasks": "nowhere.csv"}, "not one of this page's"),
    ],
)
def test_bad_input_is_one_line_and_starts_nothing(tmp_path: Path, path: str, body: Any, said: str) -> None:
    async def test(front: Front) -> None:
        given = {"datacenter": front.nodes, "trace": front.tasks} if path not in ("/api/runs", "/api/words") else {}
        status, answer = await front.ask("POST", path, body if isinstance(body, bytes) else {**given, **body})
        assert status == 400, answer
        assert said in answer["error"]
        assert "\n" not in answer["error"]
        assert front.desk.runs.runs == {}
        assert not (front.folder / "out").exists() or list((front.folder / "out").iterdir()) == []

    served(tmp_path, test)


@pytest.mark.parametrize("path", ["/api/runs/nobody", "/api/runs/..", "/api/nosuch", "/api/runs/x/files/a", "/nosuch"])
def test_what_is_not_there_is_a_404_in_one_line(tmp_path: Path, path: str) -> None:
    async def test(front: Front) -> None:
        status, answer = await front.ask("GET", path)
        assert status == 404
        assert set(answer) == {"error"}

    served(tmp_path, test)


def test_every_route_is_in_the_openapi_document_and_the_other_way_round(tmp_path: Path) -> None:
    app = new_app(new_desk(tmp_path), "127.0.0.1", TOKEN)
    pages = {"/", "/runs/{id}", "/map", "/why", "/ask", "/live", "/static/{name}"}
    routes = {
        (route.method.lower(), route.resource.canonical)
        for route in app.router.routes()
        if route.method != "HEAD" and route.resource is not None and route.resource.canonical not in pages
    }
    told = {(method, path) for path, methods in OPENAPI["paths"].items() for method in methods}
    assert routes == told


def test_the_choices_name_all_that_is_built_in_and_given(tmp_path: Path) -> None:
    async def test(front: Front) -> None:
        status, choices = await front.ask("GET", "/api/choices")
        assert status == 200
        assert [own["name"] for own in choices["datacenters"]][:2] == [front.nodes, "alibaba2023"]
        assert choices["datacenters"][0]["gpus"] == 20
        assert {"default", front.tasks} <= {own["name"] for own in choices["traces"]}
        assert {"fgd", "ocs", "auto"} <= {own["name"] for own in choices["policies"]}

    served(tmp_path, test)
