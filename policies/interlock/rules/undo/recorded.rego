package interlock.rules

# METADATA
# title: Undo as it was recorded
# description: |
#   What takes back an operation that was allowed is allowed, also when it destroys what the operation made; the settings
#   say otherwise. It is asked for nothing but its own class's rules, a person where it reaches outside, and what its
#   tool requires.
# custom:
#   requirements: [UNDO-2, UNDO-5, POL-4]
general_findings contains {
	"verdict": data.interlock.settings.undo.recorded,
	"code": "recorded_undo",
	"message": sprintf("%s takes back what was done before", [tool_name]),
	"rule": "undo/recorded",
} if {
	input.call.kind == "undo"
	declared
	input.tool.external_effect == false
	not reversible
}
