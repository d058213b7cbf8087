{{/* One egress rule: names may be looked up, where DNS is. */}}
{{- define "interlock.dnsEgress" -}}
- ports: [{port: 53, protocol: UDP}, {port: 53, protocol: TCP}]
  {{- with .Values.networkPolicy.dns }}
  to:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
