{{/* Values that contradict each other, or that nobody should decide by not deciding: one sentence each, all at once. */}}

{{- define "interlock.preflight" -}}
{{- $sentences := list -}}
{{- range list "general" "state" "service" "sidecar" "agent" "secrets" "policy" "network" -}}
{{- $sentences = concat $sentences (include (printf "interlock.preflight.%s" .) $ | splitList "\n") -}}
{{- end -}}
{{- $found := list -}}
{{- range $sentences -}}
{{- with trim . }}{{ $found = append $found (printf "- %s" .) }}{{ end -}}
{{- end -}}
{{- if $found }}{{ fail (printf "\n\nthe values cannot be used:\n%s\n" (join "\n" $found)) }}{{ end -}}
{{- end }}

{{- define "interlock.preflight.general" -}}
{{- if not .Values.image.repository }}
image.repository is empty: no image of Interlock is published; build one from the Dockerfile, and name it here
{{ end }}
{{- if and .Values.toolbox.enabled (not .Values.toolbox.image.repository) }}
toolbox.image.repository is empty: the gateway's image has no shell for the tools; build the Dockerfile's target toolbox, and name it here
{{ end }}
{{- range $path := list "server.listen" "server.operator_listen" "server.socket_mode" "server.tls" "server.health_listen" "server.drain_s" "server.drain_delay_s" "mcp.listen" "mcp.hosts" "state.dir" "state.database" "audit.dir" "audit.key_file" "artifacts.url" "metrics.listen" "approvals.listen" "policy.overlays" "policy.engine" "policy.opa.url" "policy.opa.token_file" "providers" }}
{{- if and (or $.Values.opa.enabled (not (has $path (list "policy.engine" "policy.opa.url" "policy.opa.token_file")))) (include "interlock.given" (list $.Values.config (splitList "." $path))) }}
config.{{ $path }} is what the chart sets, from `{{ include "interlock.setBy" $path }}`; leave it out of `config`
{{ end }}
{{- end }}
{{- if and (include "interlock.isService" .) (include "interlock.given" (list .Values.config (list "extmcp" "listen"))) }}
config.extmcp.listen is what the chart sets, from `extmcp.enabled`; leave it out of `config`
{{ end }}
{{- if and .Values.extmcp.enabled (not (include "interlock.isService" .)) }}
extmcp.enabled is for shape: service; beside agentgateway in its pod, config.extmcp.listen has an address on loopback
{{ end }}
{{- if and .Values.extmcp.enabled (not (dig "extmcp" "callers" list .Values.config)) }}
extmcp.enabled is on, and config.extmcp.callers is empty: nobody could ask; name agentgateway's principal, and never an agent's
{{ end }}
{{- $secretVariable := include "interlock.secretVariables" . }}
{{- range .Values.env }}
{{- if and (hasPrefix "INTERLOCK" .name) (not (regexMatch $secretVariable .name)) }}
env sets {{ .name }}, which would override what these values decide: write the setting under `config`; only secrets may be variables
{{ else if and (hasPrefix "INTERLOCK" .name) (not (dig "valueFrom" "secretKeyRef" "name" "" .)) }}
env sets {{ .name }} to a value that everybody can read who reads the pod: take it from a Secret, with valueFrom.secretKeyRef
{{ else if has .name (include "interlock.ownVariables" $ | fromJsonArray) }}
env sets {{ .name }}, which is what the chart sets; of two variables with one name the last counts
{{ end }}
{{- end }}
{{- range .Values.toolbox.env }}
{{- if or (hasPrefix "INTERLOCK" .name) (eq .name "HOME") }}
toolbox.env sets {{ .name }}, which is what the chart sets; of two variables with one name the last counts
{{ end }}
{{- end }}
{{- range $where, $labels := dict "labels" .Values.labels "pod.labels" .Values.pod.labels }}
{{- range list "app.kubernetes.io/name" "app.kubernetes.io/instance" "app.kubernetes.io/component" }}
{{- if hasKey $labels . }}
{{ $where }} has {{ . }}, by which pods are selected; it is the chart's
{{ end }}
{{- end }}
{{- end }}
{{- $taken := dict }}
{{- range $name, $port := .Values.ports }}
{{- if hasKey $taken (toString $port) }}
ports.{{ get $taken (toString $port) }} and ports.{{ $name }} are both {{ $port }}
{{ end }}
{{- $_ := set $taken (toString $port) $name }}
{{- end }}
{{- $sleep := (include "interlock.isService" . | eq "true") | ternary (int .Values.drain.preStopSleepSeconds) 0 }}
{{- $agent := (include "interlock.isPod" . | eq "true") | ternary (int .Values.sidecar.agent.stopSeconds) 0 }}
{{- /* What is in flight has drain_s, and what it has left to write has as long again. */}}
{{- $least := addf $sleep $agent .Values.drain.delaySeconds (mulf 2 .Values.drain.seconds) 1 }}
{{- if and (include "interlock.ownsPods" .) (lt (float64 .Values.drain.terminationGracePeriodSeconds) $least) }}
drain.terminationGracePeriodSeconds is {{ .Values.drain.terminationGracePeriodSeconds }}, and leaving may take {{ $least }} s: what is asleep, the agent's stop, drain.delaySeconds, and drain.seconds twice; calls in flight would be cut off
{{ end }}
{{- end }}

{{/* The variables with which the gateway is given secrets; it takes no others, because INTERLOCK_VARIABLES says so. */}}
{{- define "interlock.secretVariables" -}}
{{ "^INTERLOCK__(PROVIDER_CREDENTIALS__.+|APPROVALS__WEBHOOKS__[0-9]+__(SECRET|URL)|POLICY__BUNDLE__URL)$" }}
{{- end }}

{{/* The names of the variables that the chart itself sets for the gateway, besides those that begin with INTERLOCK. */}}
{{- define "interlock.ownVariables" -}}
{{ concat (list "HOME") (.Values.database.passwordSecret.name | empty | ternary list (list "PGPASSWORD")) | toJson }}
{{- end }}

{{/* `true` when a path is given in a tree; called with the tree and the path's parts. */}}
{{- define "interlock.given" -}}
{{- $tree := index . 0 -}}{{- $parts := index . 1 -}}
{{- if and (kindIs "map" $tree) (hasKey $tree (first $parts)) -}}
{{- if eq (len $parts) 1 -}}true{{- else -}}{{ include "interlock.given" (list (get $tree (first $parts)) (rest $parts)) }}{{- end -}}
{{- end -}}
{{- end }}

{{- define "interlock.setBy" -}}
{{- $known := dict "server.listen" "ports.agents" "server.operator_listen" "nothing: it is in the state directory" "server.socket_mode" "shape" "server.tls" "tls" "server.health_listen" "ports.health" "server.drain_s" "drain.seconds" "server.drain_delay_s" "drain.delaySeconds" "mcp.listen" "mcp.enabled" "mcp.hosts" "mcp.hosts" "state.dir" "persistence" "state.database" "database" "audit.dir" "persistence" "audit.key_file" "audit.keySecret" "artifacts.url" "artifacts.url" "metrics.listen" "ports.metrics" "approvals.listen" "ports.answers" "policy.overlays" "policies.overlays" "policy.engine" "opa.enabled" "policy.opa.url" "opa.connect" "policy.opa.token_file" "opa.tokenSecret" "providers" "providers" -}}
{{ get $known . }}
{{- end }}

{{- define "interlock.preflight.state" -}}
{{- $postgresql := eq .Values.database.kind "postgresql" }}
{{- if include "interlock.isService" . }}
{{- if and .Values.autoscaling.enabled (not $postgresql) }}
autoscaling.enabled takes database.kind: postgresql: a SQLite file is one gateway's, and a second one would know nothing of its sessions
{{ end }}
{{- if and (not .Values.autoscaling.enabled) (gt (int .Values.replicas) 1) (not $postgresql) }}
replicas is {{ .Values.replicas }}, which takes database.kind: postgresql: a SQLite file is one gateway's, and a second one would know nothing of its sessions
{{ end }}
{{- if and $postgresql (not .Values.artifacts.url) (or .Values.autoscaling.enabled (gt (int .Values.replicas) 1)) }}
artifacts.url is empty, and there may be several gateways: an artifact would be where its call was and nowhere else; name a store that all of them reach
{{ end }}
{{- end }}
{{- if and .Values.autoscaling.enabled (not (include "interlock.isService" .)) }}
autoscaling.enabled is for shape: service; sidecars are as many as there are agents
{{ end }}
{{- if and .Values.autoscaling.enabled (gt (int .Values.autoscaling.minReplicas) (int .Values.autoscaling.maxReplicas)) }}
autoscaling.minReplicas is {{ .Values.autoscaling.minReplicas }}, more than autoscaling.maxReplicas, which is {{ .Values.autoscaling.maxReplicas }}
{{ end }}
{{- if and $postgresql (not (regexMatch "^postgres(ql)?://" .Values.database.url)) }}
database.kind is postgresql, and database.url is {{ .Values.database.url | default "empty" }}: it has to begin with postgresql://
{{ end }}
{{- if and (not $postgresql) (or .Values.database.url .Values.database.passwordSecret.name) }}
database.url and database.passwordSecret are for database.kind: postgresql, which is {{ .Values.database.kind }}
{{ end }}
{{- if and .Values.persistence.enabled (eq .Values.shape "sidecar") (has .Values.sidecar.use (list "include" "inject")) }}
persistence.enabled is on, and the pods are not this chart's: say persistence.enabled: false, and persistence.lossAccepted: true when receipts may end with each pod
{{ end }}
{{- if and (not .Values.persistence.enabled) (not .Values.persistence.lossAccepted) }}
persistence.enabled is off: receipts, and what SQLite holds, end with each pod; say persistence.lossAccepted: true when they may
{{ end }}
{{- if and .Values.persistence.enabled .Values.persistence.lossAccepted }}
persistence.lossAccepted is for persistence.enabled: false; with volumes nothing is lost
{{ end }}
{{- end }}

{{- define "interlock.preflight.service" -}}
{{- $plaintext := dig "server" "plaintext_beyond_loopback" false .Values.config }}
{{- if include "interlock.isService" . }}
{{- if not .Values.tls.source }}
tls.source is empty: say certManager, secret, or none when something else encrypts what agents send
{{ end }}
{{- if and (eq .Values.tls.source "none") (not $plaintext) }}
tls.source is none: connections are not encrypted; say config.server.plaintext_beyond_loopback: true when something else, such as a mesh, encrypts them
{{ end }}
{{- if and (has .Values.tls.source (list "certManager" "secret")) $plaintext (not (include "interlock.hasAnswers" .)) }}
config.server.plaintext_beyond_loopback is true, and tls.source is {{ .Values.tls.source }}: nothing is left that would be sent unencrypted; leave it out
{{ end }}
{{- if and (include "interlock.hasAnswers" .) (not $plaintext) }}
config.approvals.webhooks has webhooks, and their answers come in over plain HTTP on port {{ .Values.ports.answers }}: say config.server.plaintext_beyond_loopback: true, and put an ingress with TLS before it
{{ end }}
{{- if and (eq .Values.tls.source "secret") (not .Values.tls.secretName) }}
tls.source is secret, and tls.secretName is empty
{{ end }}
{{- if and (eq .Values.tls.source "certManager") (not .Values.tls.issuerRef.name) }}
tls.source is certManager, and tls.issuerRef.name is empty
{{ end }}
{{- if and .Values.tls.clients (not .Values.tls.clientCaSecret.name) }}
tls.clients is {{ .Values.tls.clients }}, and tls.clientCaSecret.name is empty: any certificate would do, so none does
{{ end }}
{{- if and .Values.tls.clients (not (has .Values.tls.source (list "certManager" "secret"))) }}
tls.clients is {{ .Values.tls.clients }}, and tls.source is {{ .Values.tls.source | default "empty" }}: certificates are shown over TLS alone
{{ end }}
{{- if and .Values.tls.clientCrlSecret.name (not .Values.tls.clients) }}
tls.clientCrlSecret.name is {{ .Values.tls.clientCrlSecret.name }}, and tls.clients is empty: no client would be asked for a certificate
{{ end }}
{{- $identity := .Values.config.identity | default dict }}
{{- if not (or $identity.tokens $identity.jwt $identity.mtls) }}
config.identity has no tokens, jwt or mtls: nobody could call; `interlock token` makes a token and its hash
{{ end }}
{{- if $identity.anonymous_agents_on_loopback }}
config.identity.anonymous_agents_on_loopback is true, and the service listens beyond loopback: the gateway would not start
{{ end }}
{{- if and $identity.mtls (not .Values.tls.clients) }}
config.identity.mtls is given, and tls.clients is empty: no client would be asked for a certificate
{{ end }}
{{- if .Values.sidecar.use }}
sidecar.use is for shape: sidecar, and shape is service
{{ end }}
{{- else if .Values.tls.source }}
tls.source is for shape: service; a sidecar is reached over a Unix socket
{{ end }}
{{- end }}

{{- define "interlock.preflight.sidecar" -}}
{{- $injector := .Values.injector }}
{{- if eq .Values.shape "sidecar" }}
{{- if not .Values.sidecar.use }}
sidecar.use is empty: say pod, include or inject
{{ end }}
{{- if and (eq .Values.sidecar.use "pod") (not .Values.sidecar.agent.container) }}
sidecar.use is pod, and sidecar.agent.container is empty: that is the agent
{{ end }}
{{- if and .Values.toolbox.enabled (include "interlock.isInjected" .) (eq .Values.toolbox.agentAccess "readOnly") (not (hasKey .Values.toolbox.workspace "persistentVolumeClaim")) }}
toolbox.agentAccess is readOnly in pods that the chart does not make: name a persistentVolumeClaim of theirs in toolbox.workspace, or the agent would see an empty directory
{{ end }}
{{- end }}
{{- if and (not (include "interlock.isPod" .)) .Values.sidecar.agent.container }}
sidecar.agent.container is for shape: sidecar with sidecar.use: pod
{{ end }}
{{- if include "interlock.isInjected" . }}
{{- if not $injector.failurePolicy }}
injector.failurePolicy is empty: with Fail, pods that ask for the sidecar wait while the webhook is away; with Ignore they start without one
{{ end }}
{{- if not $injector.namespaces }}
injector.namespaces is empty: name the namespaces in which pods may ask for the sidecar
{{ end }}
{{- if has .Release.Namespace $injector.namespaces }}
injector.namespaces has {{ .Release.Namespace }}, where the webhook itself is: it would wait for itself to start
{{ end }}
{{- if not $injector.certificate.source }}
injector.certificate.source is empty: say certManager, secret, or helm to try it out
{{ end }}
{{- if and (eq $injector.certificate.source "secret") (or (not $injector.certificate.secretName) (not $injector.certificate.caBundle)) }}
injector.certificate.source is secret, which takes injector.certificate.secretName and injector.certificate.caBundle: the API server trusts nothing else
{{ end }}
{{- if and (ne $injector.certificate.source "secret") $injector.certificate.caBundle }}
injector.certificate.caBundle is for injector.certificate.source: secret; otherwise it is known
{{ end }}
{{- if and (eq $injector.certificate.source "certManager") (not $injector.certificate.issuerRef.name) }}
injector.certificate.source is certManager, and injector.certificate.issuerRef.name is empty
{{ end }}
{{- if .Values.audit.keySecret.name }}
audit.keySecret has no place in pods that are injected: every agent's namespace would hold the key of all; each sidecar makes its own
{{ end }}
{{- else }}
{{- if or $injector.failurePolicy $injector.namespaces }}
injector is for shape: sidecar with sidecar.use: inject
{{ end }}
{{- end }}
{{- end }}

{{- define "interlock.preflight.secrets" -}}
{{- if regexMatch "^[a-z+]+://[^/?@]*:[^/?]*@" .Values.database.url }}
database.url holds a password, and it goes into a ConfigMap: put it into a Secret, and name that in database.passwordSecret
{{ end }}
{{- if regexMatch "[?&]password=" .Values.database.url }}
database.url holds a password, and it goes into a ConfigMap: put it into a Secret, and name that in database.passwordSecret
{{ end }}
{{- if dig "policy" "opa" "token" "" .Values.config }}
config.policy.opa.token is a secret, and `config` goes into a ConfigMap: use opa.tokenSecret
{{ end }}
{{- range $name, $credentials := .Values.config.provider_credentials }}
{{- if $credentials.token }}
config.provider_credentials.{{ $name }}.token is a secret, and `config` goes into a ConfigMap: set INTERLOCK__PROVIDER_CREDENTIALS__{{ $name }}__TOKEN in env from a Secret
{{ end }}
{{- end }}
{{- range $where, $tree := dict "config" .Values.config "artifacts" .Values.artifacts }}
{{- if regexMatch "\"[A-Za-z0-9+.-]+://[^/?#@\"\\s]*:[^/?#@\"\\s]+@" (toRawJson $tree) }}
{{ $where }} holds an address with a password, and it goes into a ConfigMap: give it as a file of secretMounts, or in env from a Secret
{{ end }}
{{- end }}
{{- range $index, $webhook := dig "approvals" "webhooks" list .Values.config }}
{{- range $key := list "secret" "url" }}
{{- if and (get $webhook $key) (or (eq $key "secret") (eq (get $webhook "kind") "slack")) }}
config.approvals.webhooks[{{ $index }}].{{ $key }} is a secret, and `config` goes into a ConfigMap: use {{ $key }}_file with a path of secretMounts
{{ end }}
{{- end }}
{{- end }}
{{- $names := list }}
{{- $volumes := list }}
{{- if .Values.toolbox.enabled }}{{ $names = append $names "toolbox" }}{{ end }}
{{- range .Values.providers }}
{{- if has .name $names }}
providers has {{ .name }} twice; toolbox.enabled brings one of the name toolbox
{{ end }}
{{- $names = append $names .name }}
{{- if include "interlock.hasFiles" . }}
{{- $volume := include "interlock.providerVolume" . }}
{{- if has $volume $volumes }}
provider {{ .name }} would have the volume {{ $volume }}, which another one has: names have to differ in more than case, dots and underscores
{{ end }}
{{- $volumes = append $volumes $volume }}
{{- end }}
{{- if and .tokenSecret (not (hasKey . "tls")) (not .plaintext) (not (regexMatch "^(unix:|localhost:|127\\.|\\[::1\\])" .address)) }}
the token of provider {{ .name }} would be sent to {{ .address }} in plain text: give tls, or say plaintext: true when something else encrypts it
{{ end }}
{{- if and .plaintext (hasKey . "tls") }}
provider {{ .name }} has tls and plaintext: leave one of them out
{{ end }}
{{- end }}
{{- end }}

{{- define "interlock.preflight.policy" -}}
{{- range $name, $overlay := .Values.policies.overlays }}
{{- if eq (not $overlay.files) (not $overlay.configMap) }}
policies.overlays.{{ $name }} takes either files or configMap
{{ end }}
{{- if and $overlay.items (not $overlay.configMap) }}
policies.overlays.{{ $name }}.items is for configMap; with files the paths are known
{{ end }}
{{- end }}
{{- if and .Values.opa.enabled (eq .Values.opa.connect "loopback") (not .Values.opa.tokenSecret.name) }}
opa.connect is loopback, where whatever shares the pod's network could bring policies of its own: name a Secret in opa.tokenSecret, or connect by socket
{{ end }}
{{- if and .Values.opa.tokenSecret.name (not (and .Values.opa.enabled (eq .Values.opa.connect "loopback"))) }}
opa.tokenSecret is for opa.enabled with opa.connect: loopback; a socket is held by both containers and nobody else
{{ end }}
{{- if and (not .Values.opa.enabled) (eq (dig "policy" "engine" "" .Values.config) "opa") (not (dig "policy" "opa" "url" "" .Values.config)) }}
config.policy.engine is opa, and there is no OPA: say opa.enabled: true for one beside the gateway, or say in config.policy.opa.url where one is; every call would be denied
{{ end }}
{{- $fromBundle := eq (dig "policy" "opa" "policies" "push" .Values.config) "bundle" }}
{{- if and .Values.opa.enabled $fromBundle (not .Values.opa.configSecret.name) }}
config.policy.opa.policies is bundle, and opa.configSecret.name is empty: OPA would not know where its policies are
{{ end }}
{{- if and .Values.opa.configSecret.name (not (and .Values.opa.enabled $fromBundle)) }}
opa.configSecret is for opa.enabled with config.policy.opa.policies: bundle; otherwise the gateway brings the policies
{{ end }}
{{- if include "interlock.toolboxApart" . }}
{{- if not .Values.toolbox.tokenSecret.name }}
toolbox.run is deployment, and toolbox.tokenSecret.name is empty: whatever reaches its port could call tools without being decided about
{{ end }}
{{- if eq (not .Values.toolbox.tls.secretName) (not .Values.toolbox.plaintext) }}
toolbox.run is deployment, which takes either toolbox.tls.secretName or toolbox.plaintext: true, when something else encrypts the token on its way
{{ end }}
{{- if ne .Values.toolbox.agentAccess "none" }}
toolbox.agentAccess is {{ .Values.toolbox.agentAccess }}, and the toolbox is a pod of its own: the agent sees nothing of it
{{ end }}
{{- else if and .Values.toolbox.enabled (or .Values.toolbox.tokenSecret.name .Values.toolbox.tls.secretName .Values.toolbox.plaintext) }}
toolbox.tokenSecret, toolbox.tls and toolbox.plaintext are for toolbox.run: deployment; a socket is held by both containers and nobody else
{{ end }}
{{- if and .Values.toolbox.enabled (include "interlock.isService" .) (ne .Values.toolbox.agentAccess "none") }}
toolbox.agentAccess is for shape: sidecar; agents of a service have pods of their own
{{ end }}
{{- if and (include "interlock.toolboxBeside" .) (include "interlock.isService" .) (or .Values.autoscaling.enabled (gt (int .Values.replicas) 1)) }}
toolbox.run is container, and there may be several gateways: each would have files of its own; use toolbox.run: deployment
{{ end }}
{{- range .Values.toolbox.roots }}
{{- if not (or (eq . "/srv/workspace") (hasPrefix "/srv/workspace/" .)) }}
toolbox.roots has {{ . }}, which is not below /srv/workspace, where the volume is
{{ end }}
{{- end }}
{{- end }}

{{- define "interlock.preflight.network" -}}
{{- $network := .Values.networkPolicy }}
{{- if and $network.enabled (include "interlock.isService" .) (not $network.agents) }}
networkPolicy.agents is empty: nobody could reach the gateway; name who may, or say networkPolicy.enabled: false
{{ end }}
{{- if and $network.enabled (include "interlock.isService" .) .Values.extmcp.enabled (not $network.extmcpFrom) }}
networkPolicy.extmcpFrom is empty, and extmcp.enabled is on: agentgateway could not ask; without `from` everybody could
{{ end }}
{{- if and $network.extmcpFrom (not .Values.extmcp.enabled) }}
networkPolicy.extmcpFrom is for extmcp.enabled
{{ end }}
{{- if and $network.enabled (include "interlock.ownsPods" .) (not $network.egress) }}
{{- $distant := list }}
{{- range .Values.providers }}
{{- if not (regexMatch "^(unix:|localhost:|127\\.|\\[::1\\])" .address) }}{{ $distant = append $distant .name }}{{ end }}
{{- end }}
{{- if or (eq .Values.database.kind "postgresql") .Values.artifacts.url $distant }}
networkPolicy.egress is empty, and database, artifacts or providers are elsewhere: the gateway could reach none of them
{{ end }}
{{- range $path := list "identity.jwt" "approvals.webhooks" }}
{{- if include "interlock.given" (list $.Values.config (splitList "." $path)) }}
networkPolicy.egress is empty, and config.{{ $path }} names addresses: the gateway could reach none of them
{{ end }}
{{- end }}
{{- end }}
{{- if and $network.enabled (include "interlock.isService" .) (include "interlock.hasAnswers" .) (not $network.answersFrom) }}
networkPolicy.answersFrom is empty, and config.approvals.webhooks has webhooks: nobody's answer could come in
{{ end }}
{{- if or (and $network.agentNamespaces (not $network.agentPods)) (and $network.providerNamespaces (not $network.providerPods)) }}
networkPolicy.agentNamespaces and networkPolicy.providerNamespaces say where agentPods and providerPods are, and these are empty
{{ end }}
{{- if and $network.agentPods (not (include "interlock.isService" .)) }}
networkPolicy.agentPods is for shape: service; an agent shares its sidecar's network
{{ end }}
{{- if and .Values.metrics.monitor.enabled (not .Values.metrics.enabled) }}
metrics.monitor.enabled is on, and metrics.enabled is off: there is nothing to scrape
{{ end }}
{{- if and $network.enabled .Values.metrics.monitor.enabled (or (include "interlock.ownsPods" .) (include "interlock.isInjected" .)) (not $network.metricsFrom) }}
networkPolicy.metricsFrom is empty, and metrics.monitor.enabled is on: Prometheus could not reach the metrics
{{ end }}
{{- end }}
