{{/* One egress rule: names may be looked up, where DNS is. None where it is nowhere: without `to` it would be everywhere. */}}
{{- define "interlock.dnsEgress" -}}
{{- with .Values.networkPolicy.dns -}}
- ports: [{port: 53, protocol: UDP}, {port: 53, protocol: TCP}]
  to:
    {{- toYaml . | nindent 4 }}
{{- end }}
{{- end }}

{{/* One peer: the gateway's pods, from whatever namespace. */}}
{{- define "interlock.gatewayPeer" -}}
- namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: {{ .Release.Namespace }}}}
  podSelector:
    matchLabels:
      {{- include "interlock.selector" (list . "gateway") | nindent 6 }}
{{- end }}
