{{/* What the gateway's container, and those beside it, mount. */}}

{{- define "interlock.volumes" -}}
- name: interlock-config
  configMap: {name: {{ include "interlock.fullname" . }}-config}
{{- if not (and .Values.persistence.enabled (include "interlock.ownsPods" .)) }}
- name: interlock-state
  emptyDir: {sizeLimit: {{ .Values.persistence.emptyDirLimit }}}
{{- end }}
- name: interlock-tmp
  emptyDir: {sizeLimit: 256Mi}
{{- if not (include "interlock.isService" .) }}
- name: interlock-socket
  emptyDir: {medium: Memory, sizeLimit: 1Mi}
{{- end }}
{{- range $name := keys .Values.policies.overlays | sortAlpha }}
{{- $overlay := get $.Values.policies.overlays $name }}
- name: interlock-policies-{{ $name }}
  configMap:
    name: {{ $overlay.configMap | default (printf "%s-policies-%s" (include "interlock.fullname" $) $name) }}
    {{- with $overlay.items }}
    items:
      {{- toYaml . | nindent 6 }}
    {{- end }}
    {{- if $overlay.files }}
    items:
      {{- range $path := keys $overlay.files | sortAlpha }}
      - {key: {{ include "interlock.policyKey" $path }}, path: {{ $path }}}
      {{- end }}
    {{- end }}
{{- end }}
{{ include "interlock.secretVolumes" . | trim }}
{{- if .Values.opa.enabled }}
{{- if .Values.opa.configSecret.name }}
- name: interlock-opa-config
  secret: {secretName: {{ .Values.opa.configSecret.name }}, defaultMode: {{ include "interlock.secretMode" . }}}
{{- end }}
{{- if eq .Values.opa.connect "socket" }}
- name: interlock-opa
  emptyDir: {medium: Memory, sizeLimit: 1Mi}
{{- else }}
- name: interlock-opa-token
  secret: {secretName: {{ .Values.opa.tokenSecret.name }}, defaultMode: {{ include "interlock.secretMode" . }}}
- name: interlock-opa-policy
  configMap: {name: {{ include "interlock.fullname" . }}-opa}
{{- end }}
{{- end }}
{{- if include "interlock.toolboxBeside" . }}
- name: interlock-toolbox
  emptyDir: {medium: Memory, sizeLimit: 1Mi}
- name: interlock-toolbox-state
  {{- include "interlock.volumeOr1Gi" .Values.toolbox.state | nindent 2 }}
- name: interlock-toolbox-tmp
  emptyDir: {sizeLimit: 1Gi}
- name: interlock-workspace
  {{- include "interlock.volumeOr1Gi" .Values.toolbox.workspace | nindent 2 }}
{{- end }}
{{- with .Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "interlock.secretVolumes" -}}
{{- $mode := include "interlock.secretMode" . }}
{{- if include "interlock.servesTls" . }}
- name: interlock-tls
  secret: {secretName: {{ include "interlock.tlsSecretName" . }}, defaultMode: {{ $mode }}}
{{- if .Values.tls.clients }}
- name: interlock-client-ca
  secret: {secretName: {{ .Values.tls.clientCaSecret.name }}, defaultMode: {{ $mode }}}
{{- with .Values.tls.clientCrlSecret.name }}
- name: interlock-client-crl
  secret: {secretName: {{ . }}, defaultMode: {{ $mode }}}
{{- end }}
{{- end }}
{{- end }}
{{- with .Values.audit.keySecret }}
{{- if .name }}
- name: interlock-audit
  secret: {secretName: {{ .name }}, defaultMode: {{ $mode }}, items: [{key: {{ .key }}, path: {{ .key }}}]}
{{- end }}
{{- end }}
{{- if and (include "interlock.toolboxApart" .) .Values.toolbox.tls.secretName }}
- name: interlock-toolbox-ca
  secret: {secretName: {{ .Values.toolbox.tls.secretName }}, defaultMode: {{ $mode }}, items: [{key: ca.crt, path: ca.crt}]}
{{- end }}
{{- range .Values.providers }}
{{- if include "interlock.hasFiles" . }}
- name: {{ include "interlock.providerVolume" . }}
  projected:
    defaultMode: {{ $mode }}
    sources:
      {{- with .tls.caSecret }}
      - secret: {name: {{ .name }}, items: [{key: {{ .key }}, path: ca/{{ .key }}}]}
      {{- end }}
      {{- with .tls.clientSecret }}
      - secret: {name: {{ . }}, items: [{key: tls.crt, path: client/tls.crt}, {key: tls.key, path: client/tls.key}]}
      {{- end }}
{{- end }}
{{- end }}
{{- range $name := keys .Values.secretMounts | sortAlpha }}
- name: interlock-secret-{{ $name }}
  secret: {secretName: {{ (get $.Values.secretMounts $name).secretName }}, defaultMode: {{ $mode }}}
{{- end }}
{{- end }}

{{/* A ConfigMap's key for a path; slashes are not allowed in keys. */}}
{{- define "interlock.policyKey" -}}
{{ replace "/" "__" . }}
{{- end }}

{{- define "interlock.volumeOr1Gi" -}}
{{ . | default (dict "emptyDir" (dict "sizeLimit" "1Gi")) | toYaml }}
{{- end }}
