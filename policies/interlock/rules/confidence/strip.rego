package interlock.rules

# METADATA
# title: Confidence is not for the tool
# description: With the gate on, the reserved field is removed before the tool or its schema sees the input.
# custom:
#   requirements: [CONF-2, CONF-5]
confidence_findings contains {
	"verdict": "none",
	"rule": "confidence/strip",
	"obligations": {"strip": [confidence_field]},
} if {
	_ = input.call.confidence
}
