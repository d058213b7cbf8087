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

# The strictest of those that apply: to have read more never makes it looser.
sending_verdict := "deny" if "deny" in sending_verdicts

else := "checkpoint" if "checkpoint" in sending_verdicts

else := "allow" if sending_verdicts == {"allow"}

else := "deny" if count(sending_verdicts) > 0

sending_verdicts contains data.interlock.settings.taint.untrusted_sends if untrusted

sending_verdicts contains data.interlock.settings.taint.sensitive_sends if sensitive

sending_verdicts contains data.interlock.settings.taint.both_sends if {
	untrusted
	sensitive
}

tainted_by := "what strangers wrote, and what is not for others" if {
	untrusted
	sensitive
} else := "what strangers wrote" if {
	untrusted
} else := "what is not for others"
