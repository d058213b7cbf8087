package interlock.rules

# METADATA
# title: Think in reverse first
# description: |
#   A tool that declares `requires_reverse_thinking` is called with a deliverable that names hidden assumptions and
#   failure scenarios, and says to proceed.
# custom:
#   requirements: [REV-1, REV-2, REV-4]
declared_findings contains {
	"verdict": "reflect",
	"code": "reflection_required",
	"message": sprintf("%s requires reverse thinking before it is called", [tool_name]),
	"rule": "reflection/required",
} if {
	not needs_no_thought
	not reflected
	not resuming
}

needs_no_thought if {
	input.tool.metadata.requires_reverse_thinking == false
} else if {
	count(input.tool.metadata) == 0
}

reflected if {
	is_array(input.call.deliverable.hidden_assumptions)
	is_array(input.call.deliverable.failure_scenarios)
	count(input.call.deliverable.hidden_assumptions) > 0
	count(input.call.deliverable.failure_scenarios) > 0
	input.call.deliverable.verdict == "proceed"
}
