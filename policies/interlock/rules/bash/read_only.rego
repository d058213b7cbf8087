package interlock.rules

# METADATA
# title: Commands that only read
# description: |
#   A script is allowed without asking when every command is on the list of those that only read, all of it is literal,
#   every path lies inside the workspace, and nothing is written.
# custom:
#   requirements: [POL-4]
findings contains {
	"verdict": "allow",
	"code": "bash_read_only",
	"message": "",
	"rule": "bash/read_only",
} if {
	bash_call
	bash_reads_only
}

bash_reads_only if {
	bash_facts.dynamic == false
	bash_facts.assignments == []
	bash_facts.functions == []
	bash_facts.aliases == []
	count(bash_facts.commands) > 0
	bash_whereabouts
	every command in bash_facts.commands {
		bash_reading(command)
	}
	every path in bash_facts.paths {
		bash_plain(path)
	}
	every write in bash_facts.writes {
		write.location == "stream"
	}
}

# Where the script reads is known, or there is nothing to read but the directory it stands in.
bash_whereabouts if bash_facts.directory.inside == true

bash_whereabouts if {
	bash_facts.directory.changed == false
	every command in bash_facts.commands {
		command.operands == []
	}
}

# A path inside that is no pattern for hidden files.
bash_plain(path) if {
	path.inside == true
	path.glob == false
}

bash_plain(path) if {
	path.inside == true
	not bash_hidden(path.given)
}

bash_hidden(given) if {
	some segment in split(given, "/")
	startswith(segment, ".")
	not segment in {".", ".."}
}

# A program found by a path is whatever lies there.
bash_reading(command) if {
	command.argv[0] == command.name
	command.interprets == null
	list := data.interlock.settings.bash.read_only
	condition := list[bash_reading_name(command, list)]
	bash_reading_as(command, condition)
	bash_reading_as(command, object.get(list, concat(" ", [command.name, "*"]), {}))
}

bash_reading_name(command, list) := command.name if list[command.name]

else := concat(" ", [command.name, command.subcommand]) if is_string(command.subcommand)

bash_reading_as(command, condition) if {
	not bash_any_flag(command, object.get(condition, "except", []))
	every flag in command.flags {
		flag in object.get(condition, "only", command.flags)
	}
	count(command.operands) <= object.get(condition, "most_operands", count(command.operands))
	every operand in command.operands {
		not bash_secret_name(operand)
	}
}

# An operand that is named like a file with secrets, whether or not the gateway sees such a file.
bash_secret_name(operand) if {
	segments := split(lower(operand), "/")
	file_secret(segments[count(segments) - 1], segments)
}
