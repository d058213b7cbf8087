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
{{- range .env }}
{{- if eq .name "INTERLOCK_ADDRESS" }}
container {{ $container }} of sidecar.agent sets INTERLOCK_ADDRESS, which is what the chart sets: it says where the gateway is
{{ end }}
{{- end }}
{{- range include "interlock.secretsOfContainer" . | fromJsonArray }}
{{- if has . $own }}
container {{ $container }} of sidecar.agent has variables from the Secret {{ . }}, which is the gateway's: what is to be asked of the gateway it could do without
{{ end }}
{{- end }}
{{- $security := .securityContext | default dict }}
{{- $capabilities := list }}
{{- range dig "capabilities" "add" list $security }}{{ $capabilities = append $capabilities (trimPrefix "CAP_" (upper .)) }}{{ end }}
{{- range list "ALL" "BPF" "CHECKPOINT_RESTORE" "DAC_READ_SEARCH" "MAC_ADMIN" "NET_ADMIN" "NET_RAW" "PERFMON" "SYS_ADMIN" "SYS_BOOT" "SYS_MODULE" "SYS_PTRACE" "SYS_RAWIO" }}
{{- if has . $capabilities }}
container {{ $container }} of sidecar.agent adds the capability {{ . }}: with it the gateway's walls do not hold
{{ end }}
{{- end }}
{{- if not (has (dig "procMount" "Default" $security) (list "" "Default")) }}
container {{ $container }} of sidecar.agent has procMount: {{ $security.procMount }}, which uncovers the node's /proc
{{ end }}
{{- if $security.privileged }}
container {{ $container }} of sidecar.agent is privileged: the gateway's walls do not hold for it
{{ end }}
{{- end }}
{{- range $volume := $agent.volumes }}
{{- if hasPrefix "interlock-" .name }}
sidecar.agent.volumes has {{ .name }}: names that begin with interlock- are the gateway's
{{ end }}
{{- $path := dig "hostPath" "path" "" . }}
{{- range $path | empty | ternary list (list "/proc" "/sys" "/dev" "/run" "/var/run" "/etc/kubernetes" "/var/lib/kubelet" "/var/lib/containerd" "/var/lib/containers" "/var/lib/crio" "/var/lib/docker" "/var/lib/rancher" "/var/lib/k0s" "/var/snap") }}
{{- $shown := printf "%s/" (clean (printf "/%s" $path) | trimSuffix "/") }}
{{- if or (hasPrefix (printf "%s/" .) $shown) (hasPrefix $shown (printf "%s/" .)) }}
volume {{ $volume.name }} of sidecar.agent shows {{ $path }} of the node, through {{ . }} the gateway's files can be reached
{{ end }}
{{- end }}
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
