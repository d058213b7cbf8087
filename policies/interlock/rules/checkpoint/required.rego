package interlock.rules

# METADATA
# title: The tool asks for a person
# description: A tool that declares `requires_checkpoint` is not run before a person has decided.
# custom:
#   requirements: [CHK-1]
declared_findings contains {
	"verdict": "checkpoint",
	"code": "checkpoint_required",
	"message": sprintf("%s requires a checkpoint", [tool_name]),
	"rule": "checkpoint/required",
} if {
	input.tool.metadata.requires_checkpoint != false
}
