package interlock.rules

# METADATA
# title: Changes for good after reading
# description: |
#   In a session that has read what strangers wrote, the settings say what is done with a change that can be neither
#   previewed nor undone, such as a rule in a mailbox that an instruction in a mail asked for.
# custom:
#   requirements: [POL-3, POL-4]
taint_findings contains {
	"verdict": data.interlock.settings.taint.untrusted_changes,
	"code": "tainted_change",
	"message": sprintf("%s changes something for good, and this session has read %s", [tool_name, tainted_by]),
	"rule": "taint/changes",
} if {
	not read_only
	data.interlock.settings.taint.untrusted_changes != "allow"
	untrusted
	not recoverable
	not previewable
	not undoing
	not class_reads
}
