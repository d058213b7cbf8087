{{/* The pod template of the gateway's workload, in the shapes whose pods the chart makes. */}}

{{- define "interlock.podTemplate" -}}
metadata:
  labels:
    {{- include "interlock.labels" (list . "gateway") | nindent 4 }}
    {{- with .Values.pod.labels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  annotations:
    {{- include "interlock.podAnnotations" . | nindent 4 }}
    {{- with .Values.pod.annotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  {{- include "interlock.podBasics" . | nindent 2 }}
  terminationGracePeriodSeconds: {{ .Values.drain.terminationGracePeriodSeconds }}
  {{- if include "interlock.isService" . }}
  topologySpreadConstraints:
    {{- include "interlock.spread" . | nindent 4 }}
  {{- with (include "interlock.besides" . | fromYamlArray) }}
  initContainers:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  containers:
    - {{- include "interlock.gateway" . | nindent 6 }}
  {{- else }}
  {{- with .Values.pod.topologySpreadConstraints }}
  topologySpreadConstraints:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  initContainers:
    {{- include "interlock.sidecar.initContainers" . | nindent 4 }}
    {{- range .Values.sidecar.agent.initContainers }}
    - {{- include "interlock.agentContainer" . | nindent 6 }}
    {{- end }}
  containers:
    - {{- include "interlock.agentContainer" (include "interlock.agent" . | fromYaml) | nindent 6 }}
    {{- range .Values.sidecar.agent.extraContainers }}
    - {{- include "interlock.agentContainer" . | nindent 6 }}
    {{- end }}
  {{- end }}
  volumes:
    {{- include "interlock.volumes" . | nindent 4 }}
    {{- if include "interlock.isPod" . }}
    {{- with .Values.sidecar.agent.volumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
    {{- end }}
{{- end }}

{{/* What every pod of the chart has, the toolbox's and the webhook's too. */}}
{{- define "interlock.podBasics" -}}
serviceAccountName: {{ include "interlock.serviceAccountName" . }}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  fsGroup: 65532
  {{- /* Otherwise each mount would open the state directory's keys to the group, and the gateway refuses such keys. */}}
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: {type: RuntimeDefault}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- range $key := list "nodeSelector" "tolerations" "affinity" "priorityClassName" "runtimeClassName" "hostAliases" "dnsConfig" }}
{{- with get $.Values.pod $key }}
{{ $key }}:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- end }}

{{- define "interlock.besides" -}}
{{- if .Values.opa.enabled }}
- {{- include "interlock.opa" . | nindent 2 }}
{{ end }}
{{- if include "interlock.toolboxBeside" . }}
- {{- include "interlock.toolbox" . | nindent 2 }}
{{ end }}
{{- end }}

{{- define "interlock.spread" -}}
{{- if .Values.pod.topologySpreadConstraints -}}
{{ toYaml .Values.pod.topologySpreadConstraints }}
{{- else }}
{{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
- maxSkew: 1
  topologyKey: {{ . }}
  whenUnsatisfiable: ScheduleAnyway
  labelSelector:
    matchLabels:
      {{- include "interlock.selector" (list $ "gateway") | nindent 6 }}
{{- end }}
{{- end }}
{{- end }}

{{/* The agent's container with the socket, and where it is: first, so that its own variables may refer to it. */}}
{{- define "interlock.agent" -}}
{{- $container := deepCopy .Values.sidecar.agent.container -}}
{{- $_ := set $container "env" (concat (include "interlock.sidecar.agentEnv" . | fromYamlArray) ($container.env | default list)) -}}
{{- $_ := set $container "volumeMounts" (concat ($container.volumeMounts | default list) (include "interlock.sidecar.agentVolumeMounts" . | fromYamlArray)) -}}
{{ toYaml $container }}
{{- end }}

{{/* A container of the user's, restricted as far as it does not say otherwise. */}}
{{- define "interlock.agentContainer" -}}
{{- $container := deepCopy . -}}
{{- $security := include "interlock.restricted" . | fromYaml -}}
{{- range $key, $value := $container.securityContext -}}
{{- $_ := set $security $key $value -}}
{{- end -}}
{{- $_ := set $container "securityContext" $security -}}
{{ toYaml $container }}
{{- end }}
