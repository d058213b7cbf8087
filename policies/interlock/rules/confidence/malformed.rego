package interlock.rules

# METADATA
# title: Confidence is not a number from 0 to 100
# description: Strings, booleans, null, lists and numbers outside the range are refused, not converted.
# custom:
#   requirements: [CONF-6]
confidence_findings contains {
	"verdict": "deny",
	"code": "confidence_malformed",
	"message": sprintf("%s must be a number from 0 to 100", [confidence_field]),
	"rule": "confidence/malformed",
} if {
	_ = input.call.confidence
	not confidence_in_range
}

confidence_in_range if {
	is_number(input.call.confidence)
	input.call.confidence >= 0
	input.call.confidence <= 100
}
