{{/* Containers beside the gateway that start before it and end after it: native sidecars. */}}

{{- define "interlock.opa" -}}
name: interlock-opa
image: {{ include "interlock.image" (list .Values.opa.image "latest") | quote }}
imagePullPolicy: {{ .Values.opa.image.pullPolicy }}
restartPolicy: Always
args:
  - run
  - --server
  - --skip-version-check
  - --log-level=error
  - --diagnostic-addr={{ .Values.listenHost }}:8282
  {{- if .Values.opa.configSecret.name }}
  - --config-file=/etc/opa-config/{{ .Values.opa.configSecret.key }}
  {{- end }}
  {{- if eq .Values.opa.connect "socket" }}
  - --addr=unix:///run/interlock-opa/opa.sock
  {{- else }}
  - --addr=127.0.0.1:8181
  - --authentication=token
  - --authorization=basic
  - /etc/opa/authz.rego
  {{- end }}
securityContext:
  {{- include "interlock.ownUser" . | nindent 2 }}
{{- if eq .Values.opa.connect "loopback" }}
env:
  - name: INTERLOCK_OPA_TOKEN
    valueFrom:
      secretKeyRef:
        {{- toYaml .Values.opa.tokenSecret | nindent 8 }}
{{- end }}
ports:
  - {name: opa-health, containerPort: 8282, protocol: TCP}
startupProbe:
  httpGet: {path: /health, port: 8282}
  periodSeconds: 1
  failureThreshold: 60
readinessProbe:
  httpGet: {path: "/health?plugins", port: 8282}
livenessProbe:
  httpGet: {path: /health, port: 8282}
  periodSeconds: 10
  failureThreshold: 6
resources:
  {{- toYaml .Values.opa.resources | nindent 2 }}
volumeMounts:
  {{- if .Values.opa.configSecret.name }}
  - {name: interlock-opa-config, mountPath: /etc/opa-config, readOnly: true}
  {{- end }}
  {{- if eq .Values.opa.connect "socket" }}
  - {name: interlock-opa, mountPath: /run/interlock-opa}
  {{- else }}
  - {name: interlock-opa-policy, mountPath: /etc/opa, readOnly: true}
  {{- end }}
{{- end }}

{{- define "interlock.toolbox" -}}
{{- $apart := include "interlock.toolboxApart" . | eq "true" -}}
name: interlock-toolbox
image: {{ include "interlock.image" (list .Values.toolbox.image .Chart.AppVersion) | quote }}
imagePullPolicy: {{ .Values.toolbox.image.pullPolicy }}
{{- if not $apart }}
restartPolicy: Always
{{- end }}
command: [interlock]
args:
  - toolbox
  - --listen={{ $apart | ternary (printf "%s:7090" .Values.listenHost) "unix:/run/interlock-toolbox/toolbox.sock" }}
  - --state=/var/lib/interlock-toolbox
  {{- if $apart }}
  - --health-listen={{ .Values.listenHost }}:7091
  - --drain-s={{ .Values.toolbox.drainSeconds }}
  {{- end }}
  {{- range .Values.toolbox.roots }}
  - --root={{ . }}
  {{- end }}
  {{- if and $apart .Values.toolbox.tls.secretName }}
  - --cert-file=/etc/interlock/toolbox/tls.crt
  - --key-file=/etc/interlock/toolbox/tls.key
  {{- end }}
  {{- range .Values.toolbox.keepEnv }}
  - --keep-env={{ . }}
  {{- end }}
securityContext:
  {{- include "interlock.ownUser" . | nindent 2 }}
env:
  - {name: HOME, value: /tmp}
  {{- if $apart }}
  - name: INTERLOCK_TOOLBOX_TOKEN
    valueFrom:
      secretKeyRef:
        {{- toYaml .Values.toolbox.tokenSecret | nindent 8 }}
  {{- end }}
  {{- with .Values.toolbox.env }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- if $apart }}
ports:
  - {name: grpc, containerPort: 7090, protocol: TCP}
  - {name: health, containerPort: 7091, protocol: TCP}
{{- /* At a port of their own: the kubelet's gRPC probes speak no TLS. */}}
startupProbe:
  grpc: {port: 7091}
  periodSeconds: 1
  failureThreshold: 60
readinessProbe:
  grpc: {port: 7091}
  periodSeconds: 5
livenessProbe:
  grpc: {port: 7091}
  periodSeconds: 10
  failureThreshold: 6
{{- if gt (int .Values.drain.preStopSleepSeconds) 0 }}
lifecycle:
  preStop:
    sleep: {seconds: {{ .Values.drain.preStopSleepSeconds }}}
{{- end }}
{{- else }}
startupProbe:
  exec: {command: [test, -S, /run/interlock-toolbox/toolbox.sock]}
  periodSeconds: 1
  failureThreshold: 60
{{- end }}
resources:
  {{- toYaml .Values.toolbox.resources | nindent 2 }}
volumeMounts:
  - {name: interlock-workspace, mountPath: /srv/workspace}
  - {name: interlock-toolbox-state, mountPath: /var/lib/interlock-toolbox}
  {{- if $apart }}
  - {name: interlock-tmp, mountPath: /tmp}
  {{- if .Values.toolbox.tls.secretName }}
  - {name: interlock-toolbox-tls, mountPath: /etc/interlock/toolbox, readOnly: true}
  {{- end }}
  {{- else }}
  - {name: interlock-toolbox, mountPath: /run/interlock-toolbox}
  - {name: interlock-toolbox-tmp, mountPath: /tmp}
  {{- end }}
{{- end }}
