package interlock.rules.bash

# It is known that a pattern stands for no secret: all is known that it stands for, it cannot stand for one, or the
# program only shows names. What is known to be a secret is refused.
settled(path) if {
	path.pattern.known == true
	is_array(path.pattern.matches)
	is_array(path.pattern.links)
}

else if data.interlock.rules.file.no_secret(data.interlock.settings.file, path.pattern)

else if shows_names(path)

# It is an argument of a program that shows no more of a file than its name, size or age.
shows_names(path) if {
	path.role == "argument"
	names_only(script.commands[path.command])
}

names_only(command) if {
	command.argv[0] == command.name
	command.interprets == null
	data.interlock.settings.bash.names_only[command.name] == true
}

# Those of the files that a pattern stands for that are secrets.
matched_secrets(list, path) := {match |
	some match in array.concat(path.pattern.matches, path.pattern.links)
	secret_text(list, match)
}
