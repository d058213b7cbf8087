package interlock.rules

# METADATA
# title: Confidence is below the minimum
# description: The stated confidence must reach the effective minimum; equal passes.
# custom:
#   requirements: [CONF-4, CONF-7]
confidence_findings contains {
	"verdict": "deny",
	"code": "confidence_below",
	"message": sprintf("confidence %s below required %s", [confidence_given, confidence_asked]),
	"rule": "confidence/below",
} if {
	is_number(input.call.confidence)
	input.call.confidence >= 0
	input.call.confidence < confidence_required
}
