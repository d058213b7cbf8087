package interlock.rules

# METADATA
# title: Confidence is missing
# description: A tool that needs a stated confidence is not called without one. A missing value is never taken as 100.
# custom:
#   requirements: [CONF-3, CONF-7]
confidence_findings contains {
	"verdict": "deny",
	"code": "confidence_missing",
	"message": sprintf("requires %s (0-100) in input, min=%s", [confidence_field, confidence_asked]),
	"rule": "confidence/missing",
} if {
	not confidence_stated
	not resuming
}

confidence_stated if {
	is_object(input.call.input)
	_ = input.call.confidence
}
