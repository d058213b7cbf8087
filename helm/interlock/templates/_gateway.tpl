{{/* The gateway's container, the same in every shape. */}}

{{- define "interlock.restricted" -}}
runAsNonRoot: true
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- define "interlock.ownUser" -}}
runAsUser: 65532
runAsGroup: 65532
{{ include "interlock.restricted" . }}
{{- end }}

{{- define "interlock.gateway" -}}
name: interlock
image: {{ include "interlock.image" (list .Values.image .Chart.AppVersion) | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
{{- if not (include "interlock.isService" .) }}
restartPolicy: Always
{{- end }}
command: [interlock]
args: [serve]
securityContext:
  {{- include "interlock.ownUser" . | nindent 2 }}
env:
  {{- include "interlock.gatewayEnv" . | nindent 2 }}
{{- with (include "interlock.gatewayEnvFrom" . | fromYamlArray) }}
envFrom:
  {{- toYaml . | nindent 2 }}
{{- end }}
ports:
  {{- if include "interlock.isService" . }}
  - {name: grpc, containerPort: {{ .Values.ports.agents }}, protocol: TCP}
  {{- if .Values.mcp.enabled }}
  - {name: mcp, containerPort: {{ .Values.ports.mcp }}, protocol: TCP}
  {{- end }}
  {{- if .Values.extmcp.enabled }}
  - {name: extmcp, containerPort: {{ .Values.ports.extmcp }}, protocol: TCP}
  {{- end }}
  {{- end }}
  {{- if include "interlock.hasAnswers" . }}
  - {name: answers, containerPort: {{ .Values.ports.answers }}, protocol: TCP}
  {{- end }}
  - {name: health, containerPort: {{ .Values.ports.health }}, protocol: TCP}
  {{- if .Values.metrics.enabled }}
  - {name: metrics, containerPort: {{ .Values.ports.metrics }}, protocol: TCP}
  {{- end }}
{{- /* As a sidecar the agent starts once calls are served; as a service the first look is only whether the process lives. */}}
startupProbe:
  grpc: {port: {{ .Values.ports.health }}, service: {{ (include "interlock.isService" . | eq "true") | ternary "live" "" | quote }}}
  {{- toYaml .Values.probes.startup | nindent 2 }}
readinessProbe:
  grpc: {port: {{ .Values.ports.health }}, service: ""}
  {{- toYaml .Values.probes.readiness | nindent 2 }}
livenessProbe:
  grpc: {port: {{ .Values.ports.health }}, service: live}
  {{- toYaml .Values.probes.liveness | nindent 2 }}
{{- if and (include "interlock.isService" .) (gt (int .Values.drain.preStopSleepSeconds) 0) }}
lifecycle:
  preStop:
    sleep: {seconds: {{ .Values.drain.preStopSleepSeconds }}}
{{- end }}
{{- with .Values.resources }}
resources:
  {{- toYaml . | nindent 2 }}
{{- end }}
volumeMounts:
  {{- include "interlock.gatewayMounts" . | nindent 2 }}
{{- end }}

{{/* Secrets are variables or files; the configuration in the ConfigMap holds none. */}}
{{- define "interlock.gatewayEnv" -}}
- {name: INTERLOCK_CONFIG, value: /etc/interlock/interlock.yaml}
- {name: INTERLOCK_VARIABLES, value: secrets}
- {name: HOME, value: /tmp}
{{- if .Values.database.passwordSecret.name }}
- name: PGPASSWORD
  valueFrom:
    secretKeyRef:
      {{- toYaml .Values.database.passwordSecret | nindent 6 }}
{{- end }}
{{- $first := ternary 1 0 .Values.toolbox.enabled }}
{{- if and (include "interlock.toolboxApart" .) .Values.toolbox.tokenSecret.name }}
- name: INTERLOCK__PROVIDERS__0__TOKEN
  valueFrom:
    secretKeyRef:
      {{- toYaml .Values.toolbox.tokenSecret | nindent 6 }}
{{- end }}
{{- range $index, $provider := .Values.providers }}
{{- with $provider.tokenSecret }}
- name: INTERLOCK__PROVIDERS__{{ add $index $first }}__TOKEN
  valueFrom:
    secretKeyRef:
      {{- toYaml . | nindent 6 }}
{{- end }}
{{- end }}
{{- with .Values.env }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "interlock.gatewayEnvFrom" -}}
{{- $from := .Values.envFrom -}}
{{- with .Values.artifacts.credentialsSecret -}}
{{- $from = prepend $from (dict "secretRef" (dict "name" .)) -}}
{{- end -}}
{{ toYaml $from }}
{{- end }}

{{- define "interlock.gatewayMounts" -}}
- {name: interlock-config, mountPath: /etc/interlock/interlock.yaml, subPath: interlock.yaml, readOnly: true}
- {name: interlock-state, mountPath: /var/lib/interlock}
- {name: interlock-tmp, mountPath: /tmp}
{{- if not (include "interlock.isService" .) }}
- {name: interlock-socket, mountPath: /run/interlock}
{{- end }}
{{- range $name := keys .Values.policies.overlays | sortAlpha }}
- {name: interlock-policies-{{ $name }}, mountPath: /etc/interlock/policies/{{ $name }}, readOnly: true}
{{- end }}
{{- if include "interlock.servesTls" . }}
- {name: interlock-tls, mountPath: /etc/interlock/tls, readOnly: true}
{{- if .Values.tls.clients }}
- {name: interlock-client-ca, mountPath: /etc/interlock/client-ca, readOnly: true}
{{- if .Values.tls.clientCrlSecret.name }}
- {name: interlock-client-crl, mountPath: /etc/interlock/client-crl, readOnly: true}
{{- end }}
{{- end }}
{{- end }}
{{- if .Values.audit.keySecret.name }}
- {name: interlock-audit, mountPath: /etc/interlock/audit, readOnly: true}
{{- end }}
{{- range .Values.providers }}
{{- if include "interlock.hasFiles" . }}
- {name: {{ include "interlock.providerVolume" . }}, mountPath: /etc/interlock/providers/{{ .name }}, readOnly: true}
{{- end }}
{{- end }}
{{- range $name := keys .Values.secretMounts | sortAlpha }}
- {name: interlock-secret-{{ $name }}, mountPath: /etc/interlock/secrets/{{ $name }}, readOnly: true}
{{- end }}
{{- if .Values.opa.enabled }}
{{- if eq .Values.opa.connect "socket" }}
- {name: interlock-opa, mountPath: /run/interlock-opa}
{{- else }}
- {name: interlock-opa-token, mountPath: /etc/interlock/opa, readOnly: true}
{{- end }}
{{- end }}
{{- if and (include "interlock.toolboxApart" .) .Values.toolbox.tls.secretName }}
- {name: interlock-toolbox-ca, mountPath: /etc/interlock/toolbox, readOnly: true}
{{- end }}
{{- if include "interlock.toolboxBeside" . }}
- {name: interlock-toolbox, mountPath: /run/interlock-toolbox}
- {name: interlock-workspace, mountPath: /srv/workspace, readOnly: true}
{{- end }}
{{- with .Values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "interlock.servesTls" -}}
{{- if and (include "interlock.isService" .) (has .Values.tls.source (list "certManager" "secret")) }}true{{ end -}}
{{- end }}

{{/* The name of the volume with a provider's files. */}}
{{- define "interlock.providerVolume" -}}
interlock-provider-{{ .name | lower | replace "." "-" | replace "_" "-" | trimSuffix "-" }}
{{- end }}

{{/* Whether a provider of the values has files to mount. */}}
{{- define "interlock.hasFiles" -}}
{{- if and .tls (or .tls.caSecret .tls.clientSecret) }}true{{ end -}}
{{- end }}
