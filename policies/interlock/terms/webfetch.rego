package interlock.rules.webfetch

# Where every URL leads.
fetch := input.call.facts.webfetch if {
	input.call.facts.class == "webfetch"
	input.call.facts.extracted == true
}

# The URL as a person would recognise it.
named(url) := url.given if is_string(url.given)

else := "a URL"

host_of(url) := url.host if is_string(url.host)

else := "an unknown host"

# Its host, or one of the domains above it, is on the list.
listed(url, list) if {
	some domain in url.domains
	list[domain]
}

listed(url, list) if list[url.host]

# It asks for a page and sends nothing along.
only_asks if fetch.sends == false

# What the settings say when a rule has something to say; `allow` says nothing.
asked_for(verdict) if verdict != "allow"
