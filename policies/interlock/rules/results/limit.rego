package interlock.rules

# METADATA
# title: Result result_limits
# description: How many bytes of the result are returned, when the settings limit the tool or its kind of effect.
# custom:
#   requirements: [RES-1]
result_findings contains {
	"verdict": "none",
	"rule": "results/limit",
	"obligations": {"max_result_bytes": min(result_limits)},
} if {
	count(result_limits) > 0
}

result_limits contains data.interlock.settings.results.max_bytes_by_tool[input.tool.name]

result_limits contains data.interlock.settings.results.max_bytes_by_effect[input.tool.effect]
