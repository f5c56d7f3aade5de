{{- /* true where nodes are really switched */ -}}
{{- define "wattpack.sleepActs" -}}
{{- if eq .Values.sleep.mode "act" -}}
{{- if include "wattpack.isShadow" . }}{{ fail "sleep.mode: act, expected advise where mode is shadow, in which nothing is changed" }}{{ end -}}
true
{{- end -}}
{{- end -}}

{{- /* The Secret that is mounted for the switch in use; empty: none. */ -}}
{{- define "wattpack.switchSecret" -}}
{{- if include "wattpack.sleepActs" . -}}
{{- if eq .Values.sleep.power "redfish" }}{{ .Values.sleep.redfish.credentialsSecret }}{{ end -}}
{{- if eq .Values.sleep.power "webhook" }}{{ .Values.sleep.webhook.tokenSecret }}{{ end -}}
{{- end -}}
{{- end -}}

{{- /* [sleep] and the table of the switch in use */ -}}
{{- define "wattpack.tomlOfSleep" -}}
{{- $sleep := .Values.sleep -}}
{{- if ne $sleep.mode "off" }}
[sleep]
mode = {{ toJson $sleep.mode }}
nodes = {{ required "sleep.nodes: none, expected a label selector like pool=gpu" $sleep.nodes | toJson }}
reserve = {{ toString $sleep.reserve | toJson }}
idle = {{ toJson $sleep.idle }}
at_most = {{ int $sleep.at_most }}
floor = {{ int $sleep.floor }}
per_hour = {{ int $sleep.per_hour }}
binding_timeout = {{ toJson $sleep.binding_timeout }}
schedulers = {{ prepend $sleep.schedulers .Values.schedulerName | uniq | toJson }}
wake_timeout = {{ toJson $sleep.wake_timeout }}
shutdown_timeout = {{ toJson $sleep.shutdown_timeout }}
drain_timeout = {{ toJson $sleep.drain_timeout }}
wake_for_reserve = {{ toJson $sleep.wake_for_reserve }}
consolidate = {{ toJson $sleep.consolidate }}
sleep_w = {{ toJson $sleep.sleep_w }}
power = {{ toJson $sleep.power }}
{{- if eq $sleep.power "redfish" }}
[sleep.redfish]
address = {{ toJson $sleep.redfish.address }}
annotation = {{ toJson $sleep.redfish.annotation }}
hosts = {{ toJson $sleep.redfish.hosts }}
secret = {{ toJson $sleep.redfish.secret }}
credentials = {{ if $sleep.redfish.credentialsSecret }}"/etc/wattpack-switch"{{ else }}""{{ end }}
{{- include "wattpack.tomlOfSwitchCalls" (dict "table" $sleep.redfish "sleep" $sleep) }}
{{- with $sleep.redfish.addresses }}
[sleep.redfish.addresses]
{{- range $node, $address := . }}
{{ toJson $node }} = {{ toJson $address }}
{{- end }}
{{- end }}
{{- else if eq $sleep.power "metal3" }}
[sleep.metal3]
host = {{ if $sleep.metal3.host }}{{ printf "%s/%s" $sleep.metal3.namespace $sleep.metal3.host | toJson }}{{ else }}""{{ end }}
namespace = {{ toJson $sleep.metal3.namespace }}
{{- else if eq $sleep.power "webhook" }}
[sleep.webhook]
url = {{ toJson $sleep.webhook.url }}
token_file = {{ if $sleep.webhook.tokenSecret }}"/etc/wattpack-switch/token"{{ else }}""{{ end }}
{{- include "wattpack.tomlOfSwitchCalls" (dict "table" $sleep.webhook "sleep" $sleep) }}
{{- else }}
[sleep.command]
argv = {{ toJson $sleep.command.argv }}
timeout_s = {{ toJson $sleep.command.timeout_s }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "wattpack.tomlOfSwitchCalls" }}
ca_file = {{ if .sleep.authorities }}"/etc/wattpack/switch-ca.pem"{{ else }}""{{ end }}
verify = {{ toJson .table.verify }}
timeout_s = {{ toJson .table.timeout_s }}
{{- end -}}

{{- /* root, name, namespace: binds the Role of this name to the service account of the release */ -}}
{{- define "wattpack.roleBinding" -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: {{ .name }}
  namespace: {{ .namespace }}
  labels:
    {{- include "wattpack.labels" .root | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: {{ .name }}
subjects:
  - kind: ServiceAccount
    name: {{ include "wattpack.serviceAccount" .root }}
    namespace: {{ .root.Release.Namespace }}
{{- end -}}
