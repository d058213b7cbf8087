package interlock.rules.bash

# METADATA
# title: All other commands
# description: A person decides about a script that is neither refused, nor known to read only, nor routine work.
# custom:
#   requirements: [CHK-1, POL-4]
findings contains {
	"verdict": "checkpoint",
	"code": "bash_unlisted",
	"message": sprintf("the command does more than read, or is not known to%s", [unlisted_shown]),
	"rule": "bash/other",
} if {
	not reads_only
	not routine
}

default unlisted_shown := ""

unlisted_shown := concat("", [": ", shown]) if {
	shown := commands_shown(unlisted)
	shown != ""
} else := concat("", [": it sets ", concat(", ", array.slice(sort(names_set), 0, 5))]) if {
	count(names_set) > 0
}

# The commands on account of which a person is asked, where it is commands.
unlisted contains command if {
	some command in script.commands
	not reading(command)
	not routine_command(command)
}

# The variables, where each command by itself would be let through.
names_set contains assignment.name if {
	some assignment in script.assignments
	is_string(assignment.name)
	not plainly_set(assignment)
}
