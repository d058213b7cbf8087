package interlock.rules

# METADATA
# title: Changed definitions
# description: A tool whose definition differs from the accepted one is not called until an operator accepts the change.
# custom:
#   requirements: [TOOL-5]
declared_findings contains {
	"verdict": "deny",
	"code": "tool_changed",
	"message": "the tool's definition has changed and an operator has not approved the change",
	"rule": "pins/changed",
} if {
	not definition_unchanged
}

definition_unchanged if input.tool.pin_state in {"pinned", "unconfirmed"}
