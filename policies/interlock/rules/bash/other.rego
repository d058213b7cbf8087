package interlock.rules.bash

# METADATA
# title: All other commands
# description: A person decides about a script that is neither refused, nor known to read only, nor routine work.
# custom:
#   requirements: [CHK-1, POL-4]
findings contains {
	"verdict": "checkpoint",
	"code": "bash_unlisted",
	"message": "the command does more than read, or is not known to",
	"rule": "bash/other",
} if {
	not reads_only
	not routine
}
