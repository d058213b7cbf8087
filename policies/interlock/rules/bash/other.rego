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
} else := concat("", [": it sets ", data.interlock.rules.shown(names_set)]) if {
	count(names_set) > 0
} else := concat("", [": it writes ", data.interlock.rules.shown(files_written)]) if {
	count(files_written) > 0
} else := concat("", [": it leads out of the workspace, or may: ", data.interlock.rules.shown(strays)]) if {
	count(strays) > 0
} else := concat("", [": what it is given is known only at run time: ", commands_shown(unsettled)]) if {
	count(unsettled) > 0
}

# The commands on account of which a person is asked, where it is commands.
unlisted contains command if {
	some command in script.commands
	not reading(command)
	not routine_command(command)
}

# The variables, where each command by itself would be let through.
names_set contains substring(assignment.name, 0, 60) if {
	some assignment in script.assignments
	is_string(assignment.name)
	not plainly_set(assignment)
}

# Where each command by itself would be let through: the files that it writes by a redirection,
files_written contains write.given if {
	some write in script.writes
	write.location != "stream"
	is_string(write.given)
}

# the paths that are not certain to lie inside,
strays contains path.given if {
	some path in script.paths
	not path.inside == true
	is_string(path.given)
}

# and the commands with words that are not written down.
unsettled contains command if {
	some command in script.commands
	command.dynamic == true
	not command.fed == true
}
