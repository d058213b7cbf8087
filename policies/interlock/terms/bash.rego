package interlock.rules

# The call runs a shell script: its tool says so, or its facts do.
bash_call if input.tool.metadata.permission_class == "bash"

bash_call if input.call.facts.class == "bash"

# What the script runs, when all of it was understood.
bash_facts := input.call.facts.bash if {
	input.call.facts.class == "bash"
	input.call.facts.extracted == true
	input.call.facts.bash.parse_error == false
}

# The name under which the settings know a command: its program, its program and subcommand, or the part of its name
# before a dot (`mkfs.ext4`).
bash_names(command) := {command.name, stem, full} if {
	is_string(command.name)
	is_string(command.subcommand)
	stem := split(command.name, ".")[0]
	full := concat(" ", [command.name, command.subcommand])
} else := {command.name, split(command.name, ".")[0]} if {
	is_string(command.name)
}

# A command is listed, and its options and operands are those that the list means.
bash_listed(command, list) if {
	some name in bash_names(command)
	bash_condition(command, list[name])
}

bash_condition(_, condition) if {
	not condition.flags
	not condition.operands
}

bash_condition(command, condition) if bash_any_flag(command, condition.flags)

bash_condition(command, condition) if {
	some operand in command.operands
	is_string(operand)
	some prefix in condition.operands
	startswith(operand, prefix)
}

bash_any_flag(command, flags) if {
	some flag in flags
	flag in command.flags
}

# GNU programs take a long option also when only its beginning is given.
bash_any_flag(command, flags) if {
	some given in command.flags
	startswith(given, "--")
	some flag in flags
	startswith(flag, given)
}

# Commands as a person would recognise them, not more than a few.
bash_shown(commands) := concat("; ", array.slice(sort({command.text | some command in commands}), 0, 5))

# Values as a person would recognise them, not more than a few.
shown(values) := concat(", ", array.slice(sort(values), 0, 5))
