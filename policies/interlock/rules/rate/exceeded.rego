package interlock.rules

# METADATA
# title: Too many calls
# description: |
#   A principal calls a tool, tools of a kind, or anything at all, no more often than the settings say, within windows
#   that slide. What people have approved, and what the gateway goes on with, was counted when it was asked for.
# custom:
#   requirements: [POL-3, POL-4]
rate_findings contains {
	"verdict": "deny",
	"code": "rate_exceeded",
	"message": sprintf("%s: at most %v in %s; try again in %s at the latest", [
		rate_subjects[subject],
		most,
		object.get(rate_spans, window, window),
		object.get(rate_spans, window, window),
	]),
	"rule": "rate/exceeded",
} if {
	not asked_before
	some [subject, window, most] in rate_limits
	not below_rate(subject, window, most)
}

rate_subjects := {
	"tool": sprintf("%s was called too often", [tool_name]),
	"all": "there were too many calls",
	"destructive": "there were too many calls that can destroy",
}

rate_spans := {"minute": "a minute", "hour": "an hour", "day": "a day"}

below_rate(subject, window, most) if {
	is_number(most)
	input.principal.recent[subject][window] < most
}

tool_told if is_string(input.tool.name)

rate_limits contains ["all", window, most] if some window, most in data.interlock.settings.rate.calls

rate_limits contains ["tool", window, most] if {
	some window, most in data.interlock.settings.rate.by_tool[input.tool.name]
}

rate_limits contains ["tool", window, most] if {
	some window, most in data.interlock.settings.rate.by_effect[input.tool.effect]
}

rate_limits contains ["destructive", window, most] if {
	not harmless
	some window, most in data.interlock.settings.rate.destructive
}

# Nobody knows which of them holds.
rate_limits contains ["tool", window, most] if {
	not tool_told
	some limits in data.interlock.settings.rate.by_tool
	some window, most in limits
}

rate_limits contains ["tool", window, most] if {
	not effect_told
	some limits in data.interlock.settings.rate.by_effect
	some window, most in limits
}
