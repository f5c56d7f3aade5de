{{- /* wattpack.toml. Not by toToml: it writes the whole numbers of values as 8888.0. A JSON string is a TOML string. */ -}}
{{- define "wattpack.toml" -}}
{{- $config := .Values.config -}}
policy = {{ toJson $config.policy }}
power_profile = {{ toJson $config.power_profile }}
{{- if .Values.powerFile }}
power_file = "/etc/wattpack/power.toml"
{{- end }}
target = {{ if .Values.targetTasks }}"/etc/wattpack/tasks.csv"{{ else }}{{ toJson $config.target }}{{ end }}
dialect = {{ toJson $config.dialect }}
mode = {{ toJson .Values.mode }}
node_order = {{ toJson $config.node_order }}
seed = {{ int64 $config.seed }}
events = {{ if include "wattpack.isShadow" . }}"none"{{ else }}{{ toJson $config.events }}{{ end }}
gpu_memory_mib = {{ int64 $config.gpu_memory_mib }}
gpu_model_label = {{ toJson $config.gpu_model_label }}
cpu_model_label = {{ toJson $config.cpu_model_label }}
prometheus = {{ toJson .Values.prometheus.url }}
{{- if .Values.allocateClaims }}
allocate_claims = true
{{- end }}
{{ include "wattpack.tomlOfTheProcess" . }}
{{- include "wattpack.tomlOfSleep" . }}{{- with $config.models }}
[models]
{{- range $label, $model := . }}
{{ toJson $label }} = {{ toJson $model }}
{{- end }}
{{- end }}
{{- end -}}

{{- /* The part that a running service does not take over: a change of it restarts the pods (deployment.yaml). */ -}}
{{- define "wattpack.tomlOfTheProcess" -}}
[server]
host = "127.0.0.1"
port = 8888
metrics_host = {{ toJson .Values.metrics.host }}
metrics_port = {{ int .Values.metrics.port }}
metrics_token_file = "/etc/wattpack-metrics/token"
metrics_namespaces = {{ int .Values.metrics.namespaces }}
max_body_mib = {{ int .Values.config.server.max_body_mib }}
timeout_s = {{ toJson .Values.config.server.timeout_s }}
[lease]
enabled = {{ if include "wattpack.isShadow" . }}false{{ else }}true{{ end }}
namespace = {{ toJson .Release.Namespace }}
name = {{ include "wattpack.fullname" . | toJson }}
duration_s = {{ toJson .Values.config.lease.duration_s }}
{{- end -}}

{{- define "wattpack.kubeSchedulerConfiguration" -}}
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
enableProfiling: false
enableContentionProfiling: false
clientConnection:
  qps: {{ int .Values.scheduler.clientQps }}
  burst: {{ int .Values.scheduler.clientBurst }}
leaderElection:
  leaderElect: true
  resourceLock: leases
  resourceNamespace: {{ .Release.Namespace }}
  resourceName: {{ include "wattpack.schedulerLease" . }}
# All nodes that fit are sent to the extender, not the first few.
percentageOfNodesToScore: 100
profiles:
  - schedulerName: {{ .Values.schedulerName }}
    plugins:
      {{- if .Values.allocateClaims }}
      # wattpack chooses the devices of resource claims.
      multiPoint:
        disabled:
          - name: DynamicResources
      {{- end }}
      # The policy decides alone: the plugins' scores would outvote it.
      preScore:
        disabled:
          - name: "*"
      score:
        disabled:
          - name: "*"
      {{- if not .Values.scheduler.preemption }}
      postFilter:
        disabled:
          - name: DefaultPreemption
      {{- end }}
extenders:
  - urlPrefix: http://127.0.0.1:8888
    filterVerb: filter
    {{- if eq .Values.mode "score" }}
    prioritizeVerb: prioritize
    weight: {{ int .Values.scheduler.weight }}
    {{- end }}
    bindVerb: bind
    enableHTTPS: false
    nodeCacheCapable: true
    # While the extender is away pods wait; ignorable, they would be bound without it and without a GPU index.
    ignorable: false
    httpTimeout: {{ .Values.scheduler.httpTimeout }}
    {{- with .Values.scheduler.managedResources }}
    managedResources:
      {{- toYaml . | nindent 6 }}
    {{- end }}
{{ end -}}
