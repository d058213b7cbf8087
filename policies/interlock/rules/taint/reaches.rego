package interlock.rules

# METADATA
# title: Reaching out with secrets and instructions
# description: |
#   A session that has read what is nobody else's business and what strangers wrote reaches the open world only when a
#   person agrees, to read as well: what is asked for tells whoever answers something.
# custom:
#   requirements: [POL-3, POL-4]
taint_findings contains {
	"verdict": data.interlock.settings.taint.both_reaches,
	"code": "tainted_reach",
	"message": sprintf("%s reaches the open world, and this session has read %s", [tool_name, tainted_by]),
	"rule": "taint/reaches",
} if {
	sensitive
	untrusted
	not closed_world
	not taint_unconcerned
	data.interlock.settings.taint.both_reaches != "allow"
}
