"""Small trace files in every public format, made up for the tests: names, numbers and times are nobody's."""

from __future__ import annotations

import json

ALIBABA2025 = """instance_sn,role,cpu_request,gpu_request,memory_request,creation_time,scheduled_time,deletion_time
late,HN,8,1,32.0,500.0,510.0,1510.0
there,HN,12,1,120.0,,,
left,CN,64,0,320.5,,,700.0
"""
SPOT2026 = """job_name,organization,gpu_model,cpu_request,gpu_request,worker_num,submit_time,duration,job_type
7,1,GPU-series-2,16,8,2,100,3600,Spot
8,1,A10,4,0.5,1,40,60,HP
"""
HELIOS = """job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue
1,u,v,16,64,2,COMPLETED,2020-06-01 08:00:00,2020-06-01 08:01:00,2020-06-01 09:01:00,3600,60
2,u,v,0,16,1,FAILED,2020-06-01 07:30:00,2020-06-01 07:30:00,2020-06-01 07:30:30,30,0
3,u,v,1,4,1,CANCELLED,2020-06-01 08:10:00,None,2020-06-01 08:11:00,0,60
"""
ACME = """job_id,user,node_num,gpu_num,cpu_num,mem_per_pod_GB,type,state,submit_time,start_time,end_time,duration
x1,u,2,16,256,1024,Other,COMPLETED,2023-05-01 00:00:00+00:00,2023-05-01 00:00:10+00:00,2023-05-01 00:01:00+00:00,60
x2,u,1,1,16,,Other,FAILED,2023-05-01 08:00:05+08:00,2023-05-01 08:00:05+08:00,2023-05-01 08:00:25+08:00,20
"""
SWF = """; Version: 2.2
; UnixStartTime: 1600000000
1 0 5 60 16 -1 -1 16 100 -1 1 1 1 1 1 1 -1 -1
2 30 0 -1 4 -1 -1 4 100 -1 5 1 1 1 1 1 -1 -1
3 45 0 10 -1 -1 -1 70 100 1048576 1 1 1 1 1 1 -1 -1
"""
SACCT = """JobID|Submit|Start|End|State|NNodes|AllocTRES|ReqTRES
10|2026-03-01T10:00:00|2026-03-01T10:00:05|2026-03-01T11:00:05|COMPLETED|2|billing=32,cpu=32,gres/gpu=4,gres/gpu:a100=4,mem=128G,node=2|
10.batch|2026-03-01T10:00:05|2026-03-01T10:00:05|2026-03-01T11:00:05|COMPLETED|1|cpu=16,mem=64G,node=1|
11|2026-03-01T10:05:00|2026-03-01T10:06:00|Unknown|RUNNING|1|cpu=8,gres/gpu:h100=1,mem=4096M,node=1|
12|2026-03-01T10:07:00|Unknown|Unknown|PENDING|1||cpu=1,mem=1G,node=1
"""


def philly() -> str:
    def attempt(start: str | None, end: str | None, *gpus: int) -> dict[str, object]:
        detail = [{"ip": f"m{i}", "gpus": [f"gpu{g}" for g in range(count)]} for i, count in enumerate(gpus)]
        return {"start_time": start, "end_time": end, "detail": detail}

    jobs = [
        {
            "jobid": "two-attempts",
            "user": "ann",
            "submitted_time": "2017-10-01 10:00:00",
            "attempts": [
                attempt("2017-10-01 10:01:00", "2017-10-01 10:02:00", 4),
                attempt("2017-10-01 10:03:00", "2017-10-01 10:13:00", 8, 2),
            ],
        },
        {"jobid": "never", "submitted_time": "2017-10-01 10:00:30", "attempts": []},
        {
            "jobid": "runs",
            "submitted_time": "2017-10-01 09:59:00",
            "attempts": [attempt("2017-10-01 10:00:00", None, 1)],
        },
    ]
    return json.dumps(jobs)


def pod(name: str, phase: str, owner: str = "", **status: object) -> dict[str, object]:
    limits = {"cpu": "4", "memory": "8Gi", "nvidia.com/gpu": "1"}
    return {
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "team",
            "creationTimestamp": "2026-03-01T10:00:00Z",
            "ownerReferences": [{"kind": owner}] if owner else [],
        },
        "spec": {"containers": [{"resources": {"limits": limits, "requests": limits}}]},
        "status": {"phase": phase, "qosClass": "Guaranteed", **status},
    }


def kubernetes() -> str:
    ended = [{"state": {"terminated": {"finishedAt": f"2026-03-01T10:{minute}:00Z"}}} for minute in ("20", "31")]
    pods = [
        pod("train", "Succeeded", "Job", startTime="2026-03-01T10:01:00Z", containerStatuses=ended),
        pod("serve", "Running", "ReplicaSet", startTime="2026-03-01T10:00:30Z"),
        pod("waits", "Pending"),
        pod("agent", "Running", "DaemonSet", startTime="2026-03-01T10:00:30Z"),
        {"kind": "Node", "metadata": {"name": "n"}},
    ]
    return json.dumps({"kind": "List", "items": pods})


# format -> (name of the file, text)
FILES = {
    "alibaba2025": ("disaggregated_DLRM_trace.csv", ALIBABA2025),
    "alibaba-spot2026": ("job_info_df.csv", SPOT2026),
    "philly": ("cluster_job_log", philly()),
    "helios": ("cluster_log.csv", HELIOS),
    "acme": ("trace_kalos.csv", ACME),
    "swf": ("log.swf", SWF),
    "sacct": ("jobs.txt", SACCT),
    "kubernetes": ("pods.json", kubernetes()),
}
