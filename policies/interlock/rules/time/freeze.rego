package interlock.rules

# METADATA
# title: Frozen
# description: Between two times nothing is called of what the settings name. Both are written in UTC, with a `Z`.
# custom:
#   requirements: [POL-3, POL-4]
time_findings contains {
	"verdict": restriction(freeze, "deny"),
	"code": "frozen",
	"message": sprintf("%s is not called until %s (%s)", [tool_name, object.get(freeze, "until", "further notice"), name]),
	"rule": "time/freeze",
} if {
	some name, freeze in data.interlock.settings.time.freezes
	fits(object.get(freeze, "calls", {}))
	not undoing
	not before_freeze(freeze)
	not after_freeze(freeze)
}

called_at := substring(input.call.time, 0, 19)

before_freeze(freeze) if {
	endswith(freeze.from, "Z")
	called_at < trim_suffix(freeze.from, "Z")
}

after_freeze(freeze) if {
	endswith(freeze.until, "Z")
	called_at >= trim_suffix(freeze.until, "Z")
}
