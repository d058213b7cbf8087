{{/* Names and labels. */}}

{{- define "interlock.name" -}}
{{ default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "interlock.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{ .Values.fullnameOverride | trunc 50 | trimSuffix "-" }}
{{- else -}}
{{- $name := include "interlock.name" . -}}
{{ (contains $name .Release.Name | ternary .Release.Name (printf "%s-%s" .Release.Name $name)) | replace "." "-" | trunc 50 | trimSuffix "-" }}
{{- end -}}
{{- end }}

{{/* Labels that select pods; they never change. Called with the context and a component. */}}
{{- define "interlock.selector" -}}
{{- $root := index . 0 -}}
app.kubernetes.io/name: {{ include "interlock.name" $root }}
app.kubernetes.io/instance: {{ $root.Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end }}

{{- define "interlock.labels" -}}
{{- $root := index . 0 -}}
{{ include "interlock.selector" . }}
app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_" }}
{{- with $root.Values.labels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "interlock.serviceAccountName" -}}
{{ .Values.serviceAccount.name | default (.Values.serviceAccount.create | ternary (include "interlock.fullname" .) "default") }}
{{- end }}

{{/* `true` or nothing: how the chart is used. */}}
{{- define "interlock.isService" -}}
{{- if eq .Values.shape "service" }}true{{ end -}}
{{- end }}

{{- define "interlock.isPod" -}}
{{- if and (eq .Values.shape "sidecar") (eq .Values.sidecar.use "pod") }}true{{ end -}}
{{- end }}

{{- define "interlock.isInjected" -}}
{{- if and (eq .Values.shape "sidecar") (eq .Values.sidecar.use "inject") }}true{{ end -}}
{{- end }}

{{/* Whether the chart makes the pods that the gateway is in. */}}
{{- define "interlock.ownsPods" -}}
{{- if or (include "interlock.isService" .) (include "interlock.isPod" .) }}true{{ end -}}
{{- end }}

{{- define "interlock.hasAnswers" -}}
{{- if dig "approvals" "webhooks" list .Values.config }}true{{ end -}}
{{- end }}

{{- define "interlock.toolboxBeside" -}}
{{- if and .Values.toolbox.enabled (eq .Values.toolbox.run "container") }}true{{ end -}}
{{- end }}

{{- define "interlock.toolboxApart" -}}
{{- if and .Values.toolbox.enabled (eq .Values.toolbox.run "deployment") }}true{{ end -}}
{{- end }}

{{/* An image's name; called with its values and the tag to fall back to. */}}
{{- define "interlock.image" -}}
{{- $image := index . 0 -}}
{{- if $image.digest -}}
{{ $image.repository }}@{{ $image.digest }}
{{- else -}}
{{ $image.repository }}:{{ $image.tag | default (index . 1) }}
{{- end -}}
{{- end }}

{{- define "interlock.tlsSecretName" -}}
{{ .Values.tls.secretName | default (printf "%s-tls" (include "interlock.fullname" .)) }}
{{- end }}

{{- define "interlock.injectorSecretName" -}}
{{ .Values.injector.certificate.secretName | default (printf "%s-injector-tls" (include "interlock.fullname" .)) }}
{{- end }}

{{/* The namespaces that get the configuration and the policies, as a list. */}}
{{- define "interlock.configNamespaces" -}}
{{ ((include "interlock.isInjected" . | eq "true") | ternary .Values.injector.namespaces (list .Release.Namespace)) | toJson }}
{{- end }}

{{/* Secrets are readable by the gateway's group; where the chart does not make the pod there is no such group. */}}
{{- define "interlock.secretMode" -}}
{{- if include "interlock.ownsPods" . }}0440{{ else }}0444{{ end -}}
{{- end }}
