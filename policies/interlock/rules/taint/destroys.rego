package interlock.rules

# METADATA
# title: Destroying after reading
# description: |
#   In a session that has read what strangers wrote, a person decides about what destroys and cannot be undone.
# custom:
#   requirements: [POL-3, POL-4]
taint_findings contains {
	"verdict": data.interlock.settings.taint.untrusted_destroys,
	"code": "tainted_destruction",
	"message": sprintf("%s destroys what cannot be brought back, and this session has read %s", [tool_name, tainted_by]),
	"rule": "taint/destroys",
} if {
	not harmless
	data.interlock.settings.taint.untrusted_destroys != "allow"
	untrusted
	not recoverable
	not taint_unconcerned
	not class_reads
}
