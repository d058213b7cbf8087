{{/*
The sidecar, for a pod template of any chart. In a chart that has this one as a dependency, with `shape: sidecar` and
`sidecar.use: include`, each is included with `.Subcharts.interlock`:

  initContainers: {{- include "interlock.sidecar.initContainers" .Subcharts.interlock | nindent 8 }}
  volumes:        {{- include "interlock.sidecar.volumes" .Subcharts.interlock | nindent 8 }}

and, in the agent's container,

  env:            {{- include "interlock.sidecar.agentEnv" .Subcharts.interlock | nindent 12 }}
  volumeMounts:   {{- include "interlock.sidecar.agentVolumeMounts" .Subcharts.interlock | nindent 12 }}

and, so that changes roll the pods, in its annotations

  {{- include "interlock.podAnnotations" .Subcharts.interlock | nindent 8 }}
*/}}

{{- define "interlock.sidecar.initContainers" -}}
{{- if .Values.opa.enabled }}
- {{- include "interlock.opa" . | nindent 2 }}
{{ end }}
{{- if include "interlock.toolboxBeside" . }}
- {{- include "interlock.toolbox" . | nindent 2 }}
{{ end }}
- {{- include "interlock.gateway" . | nindent 2 }}
{{- end }}

{{- define "interlock.sidecar.volumes" -}}
{{ include "interlock.volumes" . }}
{{- end }}

{{/* Read only, so that the agent cannot put a socket of its own in the gateway's place. */}}
{{- define "interlock.sidecar.agentVolumeMounts" -}}
- {name: interlock-socket, mountPath: /run/interlock, readOnly: true}
{{- if and (include "interlock.toolboxBeside" .) (eq .Values.toolbox.agentAccess "readOnly") }}
- {name: interlock-workspace, mountPath: /srv/workspace, readOnly: true}
{{- end }}
{{- end }}

{{- define "interlock.sidecar.agentEnv" -}}
- {name: INTERLOCK_ADDRESS, value: unix:/run/interlock/agent.sock}
{{- end }}

{{- define "interlock.podAnnotations" -}}
checksum/interlock: {{ include "interlock.config" . | sha256sum }}
{{- end }}
