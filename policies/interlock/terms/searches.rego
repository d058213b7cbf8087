package interlock.rules.bash

# Nothing that is read in directories may be a secret.
quiet_searches if {
	every search in script.searches {
		quiet(search)
	}
}

# All that lies there has been looked at; or only files are read that are not named like secrets; or it is no place in
# which secrets usually lie, as far as the gateway, which does not see it, can tell.
quiet(search) if {
	search.complete == true
	is_array(search.names)
	is_array(search.endings)
	count(secrets_in(search)) == 0
	not ending_of_secret(search)
} else if {
	search.known == true
	count(search.only) > 0
	is_array(search.names)
	count(secrets_in(search)) == 0
	every pattern in search.only {
		data.interlock.rules.file.no_secret(data.interlock.settings.file, pattern)
	}
} else if {
	search.known == true
	search.seen == false
	search.top == false
} else if {
	search.known == true
	search.seen == false
	search.hidden == false
} else if {
	# Of the files that it is given it shows nothing but names, sizes and ages.
	search.known == true
	command := script.commands[search.command]
	command.fed == true
	data.interlock.settings.bash.names_only[command.name] == true
}

secrets_in(search) := {name |
	list := data.interlock.settings.file
	some name in search.names
	secret_text(list, name)
}

# Of files with these endings the names are not looked at, and the settings take such a name for secret.
ending_of_secret(search) if {
	some name, _ in data.interlock.settings.file.secret_names
	parts := split(name, ".")
	parts[count(parts) - 1] in search.endings
} else if {
	some extension, _ in data.interlock.settings.file.secret_extensions
	extension in search.endings
} else if {
	some prefix in data.interlock.settings.file.secret_prefixes
	not startswith(prefix, ".")
	count(search.endings) > 0
}
