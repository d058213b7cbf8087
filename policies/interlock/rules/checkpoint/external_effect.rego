package interlock.rules

# METADATA
# title: Effects outside
# description: |
#   What reaches people or systems outside cannot be taken back, so a person decides. When the tool can be previewed,
#   that is at apply, with the preview at hand.
# custom:
#   requirements: [TOOL-2, POL-3]
general_findings contains {
	"verdict": "checkpoint",
	"code": "external_effect",
	"message": sprintf("%s reaches people or systems outside", [tool_name]),
	"rule": "checkpoint/external_effect",
} if {
	not input.tool.external_effect == false
	not external_effect_previewed
}

# Nothing is dispatched yet: the call is previewed first, and this rule asked again when it is applied.
external_effect_previewed if {
	input.tool.safety_level == 2
	input.call.phase == "call"
	input.call.kind in {"call", "edit"}
}
