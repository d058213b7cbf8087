package interlock.rules.bash

# METADATA
# title: Commands that only read
# description: |
#   A script is allowed without asking when every command is on the list of those that only read, all of it is literal
#   but for names of files that `find` gives to such commands, every path lies inside the workspace, and nothing is
#   written.
# custom:
#   requirements: [POL-4]
findings contains {
	"verdict": "allow",
	"code": "bash_read_only",
	"message": "",
	"rule": "bash/read_only",
} if {
	reads_only
}

reads_only if {
	found := script
	found.open == false
	every assignment in found.assignments {
		looped(assignment)
	}
	found.functions == []
	found.aliases == []
	count(found.commands) > 0
	whereabouts_known(found)
	quiet_searches
	every command in found.commands {
		reading(command)
	}
	every path in found.paths {
		plain(path)
	}
	every write in found.writes {
		write.location == "stream"
	}
}

# The variable of a loop, of a name that means nothing to the programs that are run.
looped(assignment) if {
	assignment.loop == true
	regex.match(`^[a-z][a-z0-9]*$`, assignment.name)
	not assignment.name in {"argv", "cdpath", "fpath", "histchars", "manpath", "path", "prompt", "status"}
}

# Where the script reads is known, or there is nothing to read but the directory it stands in.
whereabouts_known(found) if {
	found.directory.inside == true
} else if {
	found.directory.changed == false
	every command in found.commands {
		command.operands == []
	}
}

# A path inside that is no pattern for hidden files, nor for what may be a secret.
plain(path) if {
	path.inside == true
	path.glob == false
	is_string(path.given)
} else if {
	path.inside == true
	given := path.given
	not hidden(given)
	settled(path)
} else if {
	environment_program(path)
}

hidden(given) if {
	some segment in split(given, "/")
	startswith(segment, ".")
	not segment in {".", ".."}
}

# A program found by a path is whatever lies there.
reading(command) if {
	command.argv[0] == command.name
	command.interprets == null
	list := data.interlock.settings.bash.read_only
	condition := list[reading_name(command, list)]
	reading_as(command, condition)
	reading_as(command, of_every_kind(command, list))
	is_array(command.flags)
	every operand in command.operands {
		is_string(operand)
		not operand in secret_operands
	}
} else if {
	# It finds files, and what it gives their names to is looked at by itself.
	command.feeds == true
	command.argv[0] == command.name
	every operand in command.operands {
		is_string(operand)
		not operand in secret_operands
	}
} else if {
	command.fed == true
	reading_files(command)
}

# Whatever files it is given, and however many, it only reads them.
reading_files(command) if {
	command.argv[0] == command.name
	command.interprets == null
	condition := data.interlock.settings.bash.read_only[command.name]
	object.keys(condition) - {"except"} == set()
	is_array(command.flags)
	not given_any(command, object.get(condition, "except", []))
	every operand in command.operands {
		not operand in secret_operands
	}
}

reading_name(command, list) := command.name if list[command.name]

else := concat(" ", [command.name, command.subcommand]) if is_string(command.subcommand)

# What the list says of a program whatever its subcommand: "git *".
of_every_kind(command, list) := object.get(list, concat(" ", [command.name, "*"]), {})

reading_as(command, condition) if {
	condition == {}
} else if {
	not given_any(command, object.get(condition, "except", []))
	every flag in command.flags {
		flag in object.get(condition, "only", command.flags)
	}
	every operand in command.operands {
		one_of(operand, object.get(condition, "operands", ["*"]))
	}
	count(command.operands) <= object.get(condition, "most_operands", count(command.operands))
}

# Operands that are named like files with secrets, whether or not the gateway sees such a file: `.env`, `HEAD:.env`,
# `key=.env`, `@.env`, `:(top).env`.
secret_operands contains operand if {
	list := data.interlock.settings.file
	some command in script.commands
	some operand in command.operands
	is_string(operand)
	segments := regex.split(`[:/=@)]`, lower(operand))
	data.interlock.rules.file.secret(list, segments[count(segments) - 1], segments)
}
