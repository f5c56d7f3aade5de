{{- define "wattpack.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 48 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 48 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 48 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "wattpack.selector" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "wattpack.labels" -}}
{{ include "wattpack.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "wattpack.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "wattpack.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "wattpack.isShadow" -}}
{{- if eq .Values.mode "shadow" }}true{{ end -}}
{{- end -}}

{{- define "wattpack.replicas" -}}
{{- if include "wattpack.isShadow" . }}1{{ else }}{{ .Values.replicas }}{{ end -}}
{{- end -}}

{{- define "wattpack.schedulerLease" -}}
{{ include "wattpack.fullname" . }}-kube-scheduler
{{- end -}}

{{- define "wattpack.metricsSecret" -}}
{{ .Values.metrics.tokenSecret | default (printf "%s-metrics" (include "wattpack.fullname" .)) }}
{{- end -}}

{{- /* image: a dict of `image` (registry, repository, tag, digest) and `tag`, the one to take when image.tag is empty */ -}}
{{- define "wattpack.imageReference" -}}
{{- if .image.registry }}{{ .image.registry }}/{{ end }}{{ .image.repository }}
{{- if .image.digest }}@{{ .image.digest }}{{ else }}:{{ default .tag .image.tag }}{{ end -}}
{{- end -}}

{{- define "wattpack.image" -}}
{{ include "wattpack.imageReference" (dict "image" .Values.image "tag" .Chart.AppVersion) }}
{{- end -}}

{{- /* v1.36.4-gke.1000 and v1.36.4+k3s1 give v1.36.4: upstream images carry no vendor's suffix */ -}}
{{- define "wattpack.schedulerImage" -}}
{{- $tag := regexFind "^v[0-9]+\\.[0-9]+\\.[0-9]+" .Capabilities.KubeVersion.Version -}}
{{ include "wattpack.imageReference" (dict "image" .Values.scheduler.image "tag" $tag) }}
{{- end -}}

{{- define "wattpack.containerSecurity" -}}
allowPrivilegeEscalation: false
capabilities:
  drop: [ALL]
readOnlyRootFilesystem: true
runAsGroup: 65532
runAsNonRoot: true
runAsUser: 65532
seccompProfile:
  type: RuntimeDefault
{{- end -}}
