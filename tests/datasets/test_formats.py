"""Readers of public trace formats, each on a small file made up for the test; bad lines are refused one by one."""

import math
from datetime import UTC, datetime
from pathlib import Path

import pytest

from datasets.trace_files import ACME, ALIBABA2025, FILES, HELIOS, SACCT, SPOT2026, SWF
from wattpack.datasets.formats import FORMATS
from wattpack.datasets.formats.format import Assumed
from wattpack.datasets.formats.imported import Imported, import_trace
from wattpack.errors import UserError
from wattpack.model.tasks import TaskClass

PUBLISHED_2025 = Path(__file__).parents[3] / "shared" / "traces" / "alibaba-2025" / "disaggregated_DLRM_trace.csv"
Task = tuple[str, float, float, TaskClass]


def read(folder: Path, name: str, text: str | None = None, assumed: Assumed | None = None) -> Imported:
    file = folder / "trace"
    file.write_text(FILES[name][1] if text is None else text, encoding="utf-8")
    return import_trace(FORMATS[name], file, assumed)


def rows(imported: Imported) -> list[Task]:
    tasks, workload = imported.tasks, imported.tasks.workload
    times = zip(tasks.arrival_s.tolist(), tasks.duration_s.tolist(), workload.sequence.tolist(), strict=True)
    return [(workload.task_name(i), arrival, left, workload.classes[k]) for i, (arrival, left, k) in enumerate(times)]


def test_alibaba2025_instances_that_were_there_before_come_first_in_the_order_of_the_file(tmp_path: Path) -> None:
    imported = read(tmp_path, "alibaba2025")
    assert rows(imported) == [
        ("there", 0, math.inf, TaskClass(12_000, 122_880, 1, 1000)),
        ("left", 0, 700, TaskClass(64_000, 328_192, 0, 0)),
        ("late", 500, 1000, TaskClass(8000, 32_768, 1, 1000)),  # 1510 - 510: from when it was scheduled on
    ]
    assert set(imported.tasks.service_class) == {"LS"}
    assert not imported.tasks.batch.any()
    assert imported.tasks.start is None


def test_spot2026_workers_of_a_job_are_single_tasks_with_the_job_s_model(tmp_path: Path) -> None:
    imported = read(tmp_path, "alibaba-spot2026")
    spot = TaskClass(16_000, 65_536, 8, 1000, "H20")
    assert rows(imported) == [
        ("8", 0, 60, TaskClass(4000, 16_384, 1, 500, "A10")),
        ("7-0", 60, 3600, spot),
        ("7-1", 60, 3600, spot),
    ]
    assert imported.tasks.service_class == ("HP", "Spot", "Spot")
    assert imported.tasks.batch.tolist() == [False, True, True]


def test_philly_a_job_is_a_task_a_server_for_the_time_of_all_attempts(tmp_path: Path) -> None:
    imported = read(tmp_path, "philly")
    assert rows(imported) == [
        ("runs", 0, math.inf, TaskClass(8000, 32_768, 1, 1000)),
        ("two-attempts-0", 60, 660, TaskClass(64_000, 262_144, 8, 1000)),
        ("two-attempts-1", 60, 660, TaskClass(16_000, 65_536, 2, 1000)),
    ]
    assert imported.not_tasks == {"no attempt with GPUs and a start": 1}
    assert imported.jobs == 2


@pytest.mark.parametrize(
    ("name", "owners"),
    [
        ("alibaba-spot2026", ("1", "1", "1")),
        ("philly", ("", "ann", "ann")),
        ("helios", ("u", "u", "u")),
        ("acme", ("u", "u", "u")),
        ("swf", ("1", "1", "1")),
        ("sacct", ("", "", "")),
        ("alibaba2025", ("", "", "")),
    ],
)
def test_the_owner_of_a_job_is_that_of_its_tasks_where_the_trace_names_one(
    tmp_path: Path, name: str, owners: tuple[str, ...]
) -> None:
    assert read(tmp_path, name).tasks.owner == owners


def test_sacct_names_owners_where_it_was_asked_for_users(tmp_path: Path) -> None:
    header, *lines = SACCT.splitlines()
    text = "\n".join([f"{header}|User", *(f"{line}|ann" for line in lines), ""])
    assert set(read(tmp_path, "sacct", text).tasks.owner) == {"ann"}


def test_helios_a_job_on_two_nodes_is_two_tasks_and_times_are_those_of_china(tmp_path: Path) -> None:
    imported = read(tmp_path, "helios")
    half = TaskClass(32_000, 8 * 32_768, 8, 1000)
    assert rows(imported) == [
        ("2", 0, 30, TaskClass(16_000, 65_536, 0, 0)),
        ("1-0", 1800, 3600, half),
        ("1-1", 1800, 3600, half),
    ]
    assert imported.not_tasks == {"never started": 1}
    assert imported.tasks.start == datetime(2020, 5, 31, 23, 30, tzinfo=UTC)


def test_helios_a_job_of_unknown_nodes_has_as_many_as_its_gpus_need(tmp_path: Path) -> None:
    stamps = "2020-06-01 08:00:00,2020-06-01 08:00:00,2020-06-01 08:00:10"
    text = f"{HELIOS.splitlines()[0]}\n1,u,v,9,18,,C,{stamps},10,0\n"
    assert [(task.num_gpu, task.cpu_milli) for *_, task in rows(read(tmp_path, "helios", text))] == [
        (5, 9000),
        (4, 9000),
    ]


def test_acme_durations_are_from_start_to_end_and_zones_are_read(tmp_path: Path) -> None:
    imported = read(tmp_path, "acme")
    half = TaskClass(128_000, 976_562, 8, 1000)  # 1024 GB of 10^9 bytes
    assert rows(imported) == [
        ("x1-0", 0, 50, half),
        ("x1-1", 0, 50, half),
        ("x2", 5, 20, TaskClass(16_000, 32_768, 1, 1000)),
    ]
    assert imported.tasks.start == datetime(2023, 5, 1, tzinfo=UTC)


def test_swf_has_no_gpus_unless_processors_stand_for_them(tmp_path: Path) -> None:
    plain = read(tmp_path, "swf")
    assert rows(plain) == [
        ("1", 0, 60, TaskClass(16_000, 65_536, 0, 0)),
        ("3-0", 45, 10, TaskClass(35_000, 35_840, 0, 0)),  # 70 processors of 1 GiB are more than a node of 64
        ("3-1", 45, 10, TaskClass(35_000, 35_840, 0, 0)),
    ]
    assert plain.not_tasks == {"never ran": 1}
    assert plain.tasks.start == datetime.fromtimestamp(1_600_000_000, UTC)
    with_gpus = rows(read(tmp_path, "swf", assumed=Assumed(processors_per_gpu=8)))
    assert [task.num_gpu for *_, task in with_gpus] == [2, 5, 4]  # 16 / 8; 70 / 8 = 9 on two nodes


def test_sacct_gives_allocated_gpus_by_node_and_leaves_steps_out(tmp_path: Path) -> None:
    imported = read(tmp_path, "sacct", assumed=Assumed(time_zone="Europe/Berlin"))
    half = TaskClass(16_000, 65_536, 2, 1000)
    assert rows(imported) == [
        ("10-0", 0, 3600, half),
        ("10-1", 0, 3600, half),
        ("11", 300, math.inf, TaskClass(8000, 4096, 1, 1000)),
    ]
    assert imported.not_tasks == {"steps of jobs": 1, "never started": 1}
    assert imported.tasks.start == datetime(2026, 3, 1, 9, tzinfo=UTC)
    assert read(tmp_path, "sacct").tasks.start is None  # the zone is not known


def test_the_hour_that_comes_twice_counts_where_the_zone_is_known(tmp_path: Path) -> None:
    # summer time ends in Berlin on 2026-10-25 at 3:00: from 1:00 to 4:00 it is four hours
    line = "10|2026-10-25T01:00:00|2026-10-25T01:00:00|2026-10-25T04:00:00|COMPLETED|1|cpu=1,mem=1G,node=1|\n"
    text = SACCT.splitlines()[0] + "\n" + line
    assert read(tmp_path, "sacct", text, Assumed(time_zone="Europe/Berlin")).tasks.duration_s.tolist() == [4 * 3600]
    assert read(tmp_path, "sacct", text).tasks.duration_s.tolist() == [3 * 3600]


BAD = {
    "alibaba2025": (ALIBABA2025, "bad,HN,8,1,32.0,x,510.0,1510.0", "creation_time 'x', expected a number"),
    "alibaba-spot2026": (SPOT2026, "9,1,A10,4,1.5,1,40,60,HP", "gpu_request '1.5', expected whole GPUs or a share"),
    "helios": (HELIOS, "9,u,v,1,1,1,C,yesterday,,,0,0", "submit_time 'yesterday', expected a time like"),
    "acme": (ACME, "x9,u,1,-1,1,1,O,C,2023-05-01,2023-05-01,2023-05-01,0", "gpu_num '-1', expected a number from 0"),
    "swf": (SWF, "4 0 0 10", "4 fields, expected 18"),
    "sacct": (SACCT, "13|2026-03-01T10:00:00|2026-03-01T10:00:00|2026-03-01T09:00:00|X|1|cpu=1|", "it ends 3,600 s"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_line_is_refused_and_counted_and_the_others_are_read(tmp_path: Path, name: str) -> None:
    text, line, reason = BAD[name]
    good = read(tmp_path, name)
    imported = read(tmp_path, name, text + line + "\n")
    assert imported.refused == 1
    ((number, said),) = imported.first_refused
    assert number == len(text.splitlines()) + 1
    assert reason in said
    assert rows(imported) == rows(good)


@pytest.mark.parametrize("name", BAD)
def test_strict_makes_a_refused_line_an_error_with_its_number(tmp_path: Path, name: str) -> None:
    text, line, reason = BAD[name]
    file = tmp_path / "trace"
    file.write_text(text + line + "\n", encoding="utf-8")
    number = len(text.splitlines()) + 1
    with pytest.raises(UserError, match=rf"trace, line {number}: .*\(1 of \d+ lines refused\)") as fault:
        import_trace(FORMATS[name], file, strict=True)
    assert reason in str(fault.value)


def test_philly_refuses_a_bad_job_by_its_number(tmp_path: Path) -> None:
    good = FILES["philly"][1].removesuffix("]")
    stamp = '"submitted_time": "2017-10-01 10:00:00"'
    no_gpus = f'{{{stamp}, "attempts": [{{"detail": [{{"ip": "m1"}}]}}]}}'
    for bad in ("7", '{"attempts": 3}', '{"submitted_time": null, "attempts": []}', no_gpus):
        imported = read(tmp_path, "philly", f"{good}, {bad}]")
        assert [place for place, _ in imported.first_refused] == [4]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("helios", "", "empty, expected a header"),
        ("helios", "job_id,x\n", "line 1: no column 'gpu_num'"),
        ("helios", HELIOS.splitlines()[0] + "\n", "no task .it has no lines., expected at least one"),
        ("helios", HELIOS.splitlines()[0] + "\n1,2\n", "line 2: 2 cells, expected 12 .1 of 1 lines refused."),
        ("swf", "; only a comment\n", "no jobs, expected lines of 18 numbers"),
        ("philly", "{", "line 1: .*expected a JSON list"),
        ("philly", "{}", "no list, expected a JSON list"),
        ("philly", "[]", "no task"),
        ("philly", "[" * 100_000, "not JSON text|expected a JSON list"),
        ("sacct", "JobID,Submit\n", "no column 'JobID'"),
    ],
)
def test_a_file_that_is_not_of_the_format_is_one_line(tmp_path: Path, name: str, text: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        read(tmp_path, name, text)


def test_odd_bytes_and_quotes_are_refused_alone(tmp_path: Path) -> None:
    file = tmp_path / "trace"
    file.write_bytes(HELIOS.encode() + b"\xff\xfe,\x00\n" + b'"open,1\n')
    imported = import_trace(FORMATS["helios"], file)
    assert imported.refused == 2
    assert len(imported.tasks) == 3


def test_only_the_first_refused_lines_are_kept_and_all_are_counted(tmp_path: Path) -> None:
    imported = read(tmp_path, "helios", HELIOS + "x\n" * 100)
    assert imported.refused == 100
    assert [line for line, _ in imported.first_refused] == [5, 6, 7, 8, 9]


def test_more_tasks_than_a_run_may_have_are_refused_before_they_are_made(tmp_path: Path) -> None:
    line = "9,1,A10,4,1,100000,0,60,HP\n"
    with pytest.raises(UserError, match=r"line 102: .* tasks so far, expected at most 10,000,000"):
        read(tmp_path, "alibaba-spot2026", SPOT2026.splitlines()[0] + "\n" + line * 120)


def test_gpu_only_leaves_out_tasks_without_gpu(tmp_path: Path) -> None:
    (tmp_path / "trace").write_text(ALIBABA2025)
    imported = import_trace(FORMATS["alibaba2025"], tmp_path / "trace", gpu_only=True)
    assert imported.tasks.workload.task_names == ("there", "late")
    assert imported.not_tasks == {"without GPU": 1}


def test_an_unknown_time_zone_is_refused(tmp_path: Path) -> None:
    for zone in ("Nowhere/Land", "../x", "\0"):
        with pytest.raises(UserError, match=r"time zone .* unknown, expected a name like"):
            read(tmp_path, "sacct", assumed=Assumed(time_zone=zone))


@pytest.mark.parametrize("field", ["vcpu_per_gpu", "memory_gib_per_gpu", "gpus_per_node", "processors_per_gpu"])
def test_assumptions_that_make_no_sense_are_refused(tmp_path: Path, field: str) -> None:
    for value in (-1, 10**9):
        with pytest.raises(UserError, match=field):
            read(tmp_path, "swf", assumed=Assumed(**{field: value}))


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_says_what_it_assumes(name: str) -> None:
    said = " ".join(FORMATS[name].assumed_in_words(Assumed(vcpu_per_gpu=7)))
    assert "{" not in said
    assert FORMATS[name].name == name


@pytest.mark.skipif(not PUBLISHED_2025.is_file(), reason="the published file is not in ../shared/traces")
def test_the_month_of_2025_has_23871_instances_and_3075_to_3415_gpus_in_use_every_day() -> None:
    tasks = import_trace(FORMATS["alibaba2025"], PUBLISHED_2025, strict=True).tasks
    assert len(tasks) == 23_871
    assert int((tasks.arrival_s == 0).sum()) == 7280
    gpus = tasks.workload.gpu_request_milli() / 1000
    for day in range(31):
        in_use = (tasks.arrival_s <= day * 86_400) & (tasks.arrival_s + tasks.duration_s > day * 86_400)
        assert 3075 <= gpus[in_use].sum() <= 3415
