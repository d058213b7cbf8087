package interlock.rules

# METADATA
# title: Sending after reading
# description: |
#   In a session that has read what strangers wrote, or what is nobody else's business, a person decides about what is
#   sent out: a page or a mail may have told the agent to send it.
# custom:
#   requirements: [POL-3, POL-4]
taint_findings contains {
	"verdict": sending_verdict,
	"code": "tainted_send",
	"message": sprintf("%s sends something out, and this session has read %s", [tool_name, tainted_by]),
	"rule": "taint/sends",
} if {
	sends
	not taint_unconcerned
	sending_verdict != "allow"
}

sending_verdict := data.interlock.settings.taint.both_sends if {
	untrusted
	sensitive
} else := data.interlock.settings.taint.untrusted_sends if {
	untrusted
} else := data.interlock.settings.taint.sensitive_sends if {
	sensitive
}

tainted_by := "what strangers wrote, and what is not for others" if {
	untrusted
	sensitive
} else := "what strangers wrote" if {
	untrusted
} else := "what is not for others"
