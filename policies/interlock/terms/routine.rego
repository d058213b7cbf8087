package interlock.rules.bash

# Routine work: every command is on its list or only reads, and nothing in it is hidden or leads outside.
routine if {
	found := script
	found.dynamic == false
	found.functions == []
	found.aliases == []
	count(found.commands) > 0
	quiet_searches
	found.directory.inside == true
	every command in found.commands {
		routine_command(command)
	}
	every path in found.paths {
		plain(path)
		well_placed(path)
		not written_by_pattern(path)
	}
	every write in found.writes {
		write.location == "stream"
	}
	every assignment in found.assignments {
		plainly_set(assignment)
	}
}

# No device stands in the place of a file that is written.
well_placed(path) if {
	path.location == "inside"
} else if {
	path.location == "stream"
	path.role == "redirection"
} else if {
	environment_program(path)
}

# Programs of an environment are links to those that it was made with.
environment_program(path) if {
	path.role == "program"
	path.glob == false
	in_environment(path.given)
}

# Where a pattern writes is known when all is known that it stands for.
written_by_pattern(path) if {
	path.glob
	not path.pattern.known
	writing_files(script.commands[path.command])
}

routine_command(command) if {
	reading(command)
} else if {
	command.interprets == null
	working(command)
} else if {
	disposing(command)
} else if {
	own_code(command)
} else if {
	small_script(command)
} else if {
	# What is asked for its version does nothing else.
	count(command.argv) == 2
	command.argv[0] == command.name
	command.argv[1] in {"--version", "-version", "-V", "-v"}
} else if {
	own_program(command)
} else if {
	in_environment(command.argv[0])
	is_string(command.name)
	by_name := object.union(command, {"argv": array.concat([command.name], array.slice(command.argv, 1, count(command.argv)))})
	routine_by_name(by_name)
}

# A script of the project's own, by its path: what it is, its ending says.
own_program(command) if {
	command.interprets == null
	is_string(command.name)
	is_string(command.argv[0])
	is_array(command.operands)
	strings.any_suffix_match(command.name, data.interlock.settings.bash.routine_endings)
	contains(command.argv[0], "/")
	harmless(command)
	named := object.union(command, {"operands": array.concat(command.operands, [command.argv[0]])})
	not grave(named)
}

# What the project has installed for itself, under the name that it has there.
in_environment(path) if {
	is_string(path)
	strings.any_prefix_match(trim_prefix(path, "./"), data.interlock.settings.bash.environments)
	count(split(trim_prefix(path, "./"), "/")) == 3
}

routine_by_name(command) if {
	command.interprets == null
	working(command)
} else if {
	own_code(command)
} else if {
	small_script(command)
}

# Code of the project's own: a file inside, by the path that is written down.
own_code(command) if {
	command.interprets.source == "file"
	is_string(command.interprets.script)
	command.argv[0] == command.name
	data.interlock.settings.bash.routine_languages[command.interprets.language] == true
	script_first(command)
	harmless(command)
	not grave(command)
}

# Before the file there is at most one option of those that load no other code.
script_first(command) if command.argv[1] == command.interprets.script

script_first(command) if {
	command.argv[1] in data.interlock.settings.bash.routine_language_options
	command.argv[2] == command.interprets.script
}

plainly_set(assignment) if looped(assignment)

plainly_set(assignment) if {
	data.interlock.settings.bash.routine_variables[assignment.name] == true
	is_string(assignment.value)
	not regex.match(`^[/~]|\.\.|:/`, assignment.value)
}

# A small script in the command itself, of a kind that can neither run nor write anything but what it is given.
small_script(command) if {
	command.interprets.source == "argument"
	is_string(command.interprets.code)
	some pattern in data.interlock.settings.bash.routine_scripts[command.interprets.language]
	regex.match(pattern, command.interprets.code)
	working(command)
}

working(command) if {
	list := data.interlock.settings.bash.routine
	condition := list[working_name(command, list)]
	working_as(command, condition)
	working_as(command, of_every_kind(command, list))
	is_array(command.flags)
	harmless(command)
}

# A program by its name, or one of the project by a path that the list names; else a subcommand that comes first.
working_name(command, list) := command.argv[0] if {
	list[command.argv[0]]
} else := concat(" ", [command.name, command.subcommand]) if {
	command.argv[0] == command.name
	command.argv[1] == command.subcommand
	is_string(command.subcommand)
} else := concat(" ", [command.name, "-", command.subcommand]) if {
	command.argv[0] == command.name
	is_string(command.subcommand)
}

working_as(command, condition) if {
	condition == {}
} else if {
	not given_any(command, object.get(condition, "except", []))
	every flag in command.flags {
		flag in object.get(condition, "only", command.flags)
	}
	given_one(command, condition)
	operands_known(command, condition)
	begins_known(command, condition)
	followed(command, condition)
	every operand in command.operands {
		not contains_any(operand, object.get(condition, "never", []))
	}
	not grave_task(command, condition)
	worded(command, condition)
}

given_one(_, condition) if not condition.given

given_one(command, condition) if given_any(command, condition.given)

operands_known(command, condition) if given_any(command, object.get(condition, "free_with", []))

operands_known(command, condition) if {
	every operand in own_operands(command, condition) {
		one_of(operand, object.get(condition, "operands", ["*"]))
	}
}

begins_known(_, condition) if not condition.first

# Before it there is no option, which could have it as its value.
begins_known(command, condition) if {
	command.argv[1] == command.operands[0]
	one_of(command.operands[0], condition.first)
}

# Wherever the name of the subcommand stands, one of these words comes next.
followed(_, condition) if not condition.then

followed(command, condition) if {
	every index, operand in command.operands {
		followed_at(command, index, operand, condition.then)
	}
}

followed_at(command, _, operand, _) if operand != command.subcommand

followed_at(command, index, _, words) if one_of(command.operands[index + 1], words)

contains_any(operand, parts) if {
	is_string(operand)
	word := lower(operand)
	some part in parts
	contains(word, part)
}

grave_task(command, condition) if {
	condition.tasks
	grave(command)
}

# Whatever the project means by it, a word for publishing, deploying or destroying is among its operands and options.
grave(command) if {
	some given in array.concat(command.operands, command.flags)
	some word in regex.split(`[^a-z]+`, lower(given))
	data.interlock.settings.bash.grave_words[word] == true
}

# What strangers wrote may be in what it shows.
brings_in if {
	list := data.interlock.settings.bash.brings_in
	some [name, _] in known
	list[name] == true
}

# It names no secret and no place in the net, and if it writes, no file that others act on.
harmless(command) if {
	every operand in command.operands {
		is_string(operand)
		not operand in secret_operands
		not in_the_net(operand)
	}
	every word in command.argv {
		not carries(word)
	}
	not writes_guarded(command)
}

# An option has in its value a place in the net, one outside, a file that others act on, or a secret.
carries(word) if {
	startswith(word, "-")
	count(word) > 3
	regex.match(`[=:,/@.]`, word)
	leads_elsewhere(word)
}

leads_elsewhere(word) if {
	regex.match(`://|=[^/ ]+@[^/ ]+:|[=:,][^=:,]*[=:,](/|~/|\.\.(/|$))`, word)
} else if {
	# What is left out, or configures, is not written.
	not regex.match(`^-+[a-z-]*(exclude|ignore|skip|config)`, lower(word))
	parts := regex.split(`[=:,/@]`, lower(word))
	some part in array.concat(parts, [substring(parts[0], 2, -1)])
	guarded_or_secret(part)
}

guarded_or_secret(name) if data.interlock.rules.file.guarded(name)

guarded_or_secret(name) if data.interlock.rules.file.secret(data.interlock.settings.file, name, [name])

in_the_net(operand) if {
	contains(operand, ":")
	leads_out(operand)
}

leads_out(operand) if {
	contains(operand, "://")
} else if {
	startswith(operand, "ext::")
} else if {
	regex.match(`^[^/ ]+@[^/ ]+:`, operand)
}

writes_guarded(command) if {
	writing_files(command)
	some operand in command.operands
	some segment in regex.split(`[/=:,]`, lower(operand))
	data.interlock.rules.file.guarded(segment)
}

# What is put there can be removed with all that is in it.
writes_guarded(command) if {
	command.name == "mv"
	some operand in command.operands
	disposable(operand)
}

writing_files(command) if {
	data.interlock.settings.bash.writers[command.name]
} else if {
	command.interprets.source == "argument"
} else if {
	command.subcommand == "mv"
} else if {
	strings.any_prefix_match(command.flags, ["-o", "--out", "--target-dir", "--dest"])
}

# Directories that builds make again: `rm -rf dist`.
disposing(command) if {
	command.argv[0] == "rm"
	not command.implied
	script.directory.inside == true
	data.interlock.settings.bash.routine_verdict == "allow"
	count(command.operands) > 0
	every operand in command.operands {
		disposable(operand)
	}
}

disposable(operand) if {
	is_string(operand)
	not startswith(operand, "/")
	segments := split(trim_prefix(operand, "./"), "/")
	not ".." in segments
	data.interlock.settings.bash.disposable[segments[0]] == true
	not contains_any(operand, ["*", "?", "[", "{", "~"])
}
