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
	not asks_for_nobody
}

# A tool that declares nothing is asked about all the same.
asks_for_nobody if {
	input.tool.metadata.requires_checkpoint == false
} else if {
	count(input.tool.metadata) == 0
}
