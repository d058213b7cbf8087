{{/* interlock.yaml: what `config` says, with what the chart sets. */}}

{{- define "interlock.config" -}}
{{ toYaml (mustMergeOverwrite (deepCopy .Values.config) (include "interlock.ownConfig" . | fromYaml)) }}
{{- end }}

{{/* What the chart sets; _preflight.tpl refuses the same keys in `config`. */}}
{{- define "interlock.ownConfig" -}}
server:
  {{- if include "interlock.isService" . }}
  listen: [{{ printf "%s:%v" .Values.listenHost .Values.ports.agents | quote }}]
  {{- if has .Values.tls.source (list "certManager" "secret") }}
  tls:
    cert_file: /etc/interlock/tls/tls.crt
    key_file: /etc/interlock/tls/tls.key
    {{- if .Values.tls.clients }}
    client_ca_file: /etc/interlock/client-ca/{{ .Values.tls.clientCaSecret.key }}
    {{- with .Values.tls.clientCrlSecret }}
    {{- if .name }}
    crl_file: /etc/interlock/client-crl/{{ .key }}
    {{- end }}
    {{- end }}
    clients: {{ .Values.tls.clients }}
    {{- end }}
  {{- end }}
  {{- else }}
  listen: ["unix:/run/interlock/agent.sock"]
  # Who mounts the socket's directory is the agent, whatever user it runs as.
  socket_mode: "0666"
  {{- end }}
  health_listen: {{ printf "%s:%v" .Values.listenHost .Values.ports.health | quote }}
  drain_delay_s: {{ .Values.drain.delaySeconds }}
  drain_s: {{ .Values.drain.seconds }}
mcp:
  {{- if not .Values.mcp.enabled }}
  listen: []
  {{- else if include "interlock.isService" . }}
  {{- $name := include "interlock.fullname" . }}
  listen: [{{ printf "%s:%v" .Values.listenHost .Values.ports.mcp | quote }}]
  hosts:
    - {{ $name }}
    - {{ $name }}.{{ .Release.Namespace }}
    - {{ $name }}.{{ .Release.Namespace }}.svc
    {{- range concat .Values.tls.dnsNames .Values.mcp.hosts | uniq }}
    - {{ . | quote }}
    {{- end }}
  {{- else }}
  listen: ["unix:/run/interlock/mcp.sock"]
  {{- end }}
{{- if and .Values.extmcp.enabled (include "interlock.isService" .) }}
extmcp:
  listen: [{{ printf "%s:%v" .Values.listenHost .Values.ports.extmcp | quote }}]
{{- end }}
state:
  dir: /var/lib/interlock/state
  {{- if eq .Values.database.kind "postgresql" }}
  database: {{ .Values.database.url | quote }}
  {{- end }}
{{- if .Values.audit.keySecret.name }}
audit:
  key_file: /etc/interlock/audit/{{ .Values.audit.keySecret.key }}
{{- end }}
{{- with .Values.artifacts.url }}
artifacts:
  url: {{ . | quote }}
{{- end }}
metrics:
  listen: {{ .Values.metrics.enabled | ternary (printf "%s:%v" .Values.listenHost .Values.ports.metrics) "" | quote }}
{{- if include "interlock.hasAnswers" . }}
approvals:
  listen: {{ printf "%s:%v" .Values.listenHost .Values.ports.answers | quote }}
{{- end }}
{{- if or .Values.policies.overlays .Values.opa.enabled }}
policy:
  {{- with .Values.policies.overlays }}
  overlays:
    {{- range $name := keys . | sortAlpha }}
    - /etc/interlock/policies/{{ $name }}
    {{- end }}
  {{- end }}
  {{- if .Values.opa.enabled }}
  engine: opa
  opa:
    {{- if eq .Values.opa.connect "socket" }}
    url: unix:/run/interlock-opa/opa.sock
    {{- else }}
    url: http://127.0.0.1:8181
    token_file: /etc/interlock/opa/{{ .Values.opa.tokenSecret.key }}
    {{- end }}
  {{- end }}
{{- end }}
{{- if or .Values.providers .Values.toolbox.enabled }}
providers:
  {{- if include "interlock.toolboxBeside" . }}
  - name: toolbox
    address: unix:/run/interlock-toolbox/toolbox.sock
  {{- else if .Values.toolbox.enabled }}
  - name: toolbox
    address: {{ include "interlock.fullname" . }}-toolbox.{{ .Release.Namespace }}.svc:7090
    {{- if .Values.toolbox.tls.secretName }}
    tls: {ca_file: /etc/interlock/toolbox/ca.crt}
    {{- else }}
    plaintext_beyond_loopback: true
    {{- end }}
  {{- end }}
  {{- range .Values.providers }}
  - {{- include "interlock.provider" . | nindent 4 }}
  {{- end }}
{{- end }}
{{- if and .Values.toolbox.enabled (not (hasKey .Values.config "workspace_roots")) }}
workspace_roots: {{ toJson .Values.toolbox.roots }}
{{- end }}
{{- end }}

{{/* One of `providers`, in the gateway's words. */}}
{{- define "interlock.provider" -}}
name: {{ .name | quote }}
address: {{ .address | quote }}
{{- with .trust }}
trust: {{ . }}
{{- end }}
{{- with .pins }}
pins: {{ . }}
{{- end }}
{{- if .plaintext }}
plaintext_beyond_loopback: true
{{- end }}
{{- if hasKey . "tls" }}
{{- $directory := printf "/etc/interlock/providers/%s" .name }}
{{- $tls := dict }}
{{- with .tls.caSecret }}{{ $_ := set $tls "ca_file" (printf "%s/ca/%s" $directory .key) }}{{ end }}
{{- if .tls.clientSecret }}
{{- $_ := set $tls "cert_file" (printf "%s/client/tls.crt" $directory) }}
{{- $_ := set $tls "key_file" (printf "%s/client/tls.key" $directory) }}
{{- end }}
{{- with .tls.serverName }}{{ $_ := set $tls "server_name" . }}{{ end }}
tls:
  {{- toYaml $tls | nindent 2 }}
{{- end }}
{{- end }}
