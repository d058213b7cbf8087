# Who may ask the OPA server beside the gateway: whoever sends the token that both containers hold, and the kubelet, whether
# it lives.
package system.authz

default allow := false

allow if {
	token := opa.runtime().env.INTERLOCK_OPA_TOKEN
	token != ""
	input.identity == token
}

allow if {
	input.method == "GET"
	input.path == ["health"]
}
