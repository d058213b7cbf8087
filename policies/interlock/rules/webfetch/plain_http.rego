package interlock.rules.webfetch

# METADATA
# title: Plain HTTP
# description: |
#   What comes over plain HTTP may have been written by anybody on the way. The settings say what is done; a page that is
#   there over HTTPS too costs the agent one more call.
# custom:
#   requirements: [POL-4]
findings contains {
	"verdict": data.interlock.settings.webfetch.plain_http,
	"code": "plain_http",
	"message": sprintf("not encrypted; use https: %s", [data.interlock.rules.shown(unencrypted)]),
	"rule": "webfetch/plain_http",
} if {
	asked_for(data.interlock.settings.webfetch.plain_http)
	count(unencrypted) > 0
}

unencrypted contains named(url) if {
	some url in fetch.urls
	not encrypted(url)
	not refused_for_its_scheme(url)
	not wanted_inside(url)
}

encrypted(url) if url.scheme == "https"

# There is no page at it that could be asked for with https.
refused_for_its_scheme(url) if {
	is_string(url.scheme)
	not of_listed_scheme(url)
}
