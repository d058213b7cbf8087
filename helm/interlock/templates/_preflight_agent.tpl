{{/* With `sidecar.use: pod` the chart writes the agent's containers: what the webhook refuses in pods is refused in values. */}}

{{- define "interlock.preflight.agent" -}}
{{- if include "interlock.isPod" . }}
{{- $agent := .Values.sidecar.agent }}
{{- $own := include "interlock.gatewaySecrets" . | fromJsonArray }}
{{- range concat (list $agent.container) $agent.extraContainers $agent.initContainers }}
{{- $container := .name }}
{{- range .volumeMounts }}
{{- if hasPrefix "interlock-" .name }}
container {{ $container }} of sidecar.agent mounts {{ .name }}, which is the gateway's; what the agent may see of it the chart mounts by itself
{{ end }}
{{- end }}
{{- range include "interlock.secretsOfContainer" . | fromJsonArray }}
{{- if has . $own }}
container {{ $container }} of sidecar.agent has variables from the Secret {{ . }}, which is the gateway's: what is to be asked of the gateway it could do without
{{ end }}
{{- end }}
{{- $security := .securityContext | default dict }}
{{- $capabilities := dig "capabilities" "add" list $security }}
{{- range list "ALL" "BPF" "CHECKPOINT_RESTORE" "DAC_READ_SEARCH" "MAC_ADMIN" "NET_ADMIN" "PERFMON" "SYS_ADMIN" "SYS_BOOT" "SYS_MODULE" "SYS_PTRACE" "SYS_RAWIO" }}
{{- if has . $capabilities }}
container {{ $container }} of sidecar.agent adds the capability {{ . }}: with it the gateway's walls do not hold
{{ end }}
{{- end }}
{{- if $security.privileged }}
container {{ $container }} of sidecar.agent is privileged: the gateway's walls do not hold for it
{{ end }}
{{- end }}
{{- range $volume := $agent.volumes }}
{{- if hasPrefix "interlock-" .name }}
sidecar.agent.volumes has {{ .name }}: names that begin with interlock- are the gateway's
{{ end }}
{{- range include "interlock.secretsOfVolume" . | fromJsonArray }}
{{- if has . $own }}
volume {{ $volume.name }} of sidecar.agent has the Secret {{ . }}, which is the gateway's: what is to be asked of the gateway it could do without
{{ end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* The names of the Secrets that only the gateway, and what runs beside it, may hold. */}}
{{- define "interlock.gatewaySecrets" -}}
{{- $names := list .Values.database.passwordSecret.name .Values.audit.keySecret.name .Values.artifacts.credentialsSecret .Values.toolbox.tokenSecret.name .Values.opa.tokenSecret.name .Values.opa.configSecret.name -}}
{{- range .Values.providers -}}
{{- $names = concat $names (list (dig "tokenSecret" "name" "" .) (dig "tls" "clientSecret" "" .)) -}}
{{- end -}}
{{- range .Values.secretMounts -}}{{- $names = append $names .secretName -}}{{- end -}}
{{- range .Values.envFrom -}}{{- $names = append $names (dig "secretRef" "name" "" .) -}}{{- end -}}
{{- range .Values.env -}}{{- $names = append $names (dig "valueFrom" "secretKeyRef" "name" "" .) -}}{{- end -}}
{{ without $names "" | uniq | toJson }}
{{- end }}

{{- define "interlock.secretsOfContainer" -}}
{{- $names := list -}}
{{- range .envFrom -}}{{- $names = append $names (dig "secretRef" "name" "" .) -}}{{- end -}}
{{- range .env -}}{{- $names = append $names (dig "valueFrom" "secretKeyRef" "name" "" .) -}}{{- end -}}
{{ without $names "" | uniq | toJson }}
{{- end }}

{{- define "interlock.secretsOfVolume" -}}
{{- $names := list (dig "secret" "secretName" "" .) -}}
{{- range dig "projected" "sources" list . -}}{{- $names = append $names (dig "secret" "name" "" .) -}}{{- end -}}
{{ without $names "" | uniq | toJson }}
{{- end }}
