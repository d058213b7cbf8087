package interlock.rules

# METADATA
# title: Resolve what is pending first
# description: |
#   In mode `enforce`, calls that are not read-only wait until the pending action is applied or discarded.
# custom:
#   requirements: [PREV-10, POL-3]
change_findings contains {
	"verdict": "deny",
	"code": "pending_unresolved",
	"message": "A preview is pending. Call the `resolve` tool to apply or discard it first.",
	"rule": "pending/unresolved",
} if {
	not input.session.pending.count == 0
	not resuming
	not steering
}

steering if input.session.pending.mode == "steer"
