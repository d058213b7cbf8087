package interlock.rules.webfetch

# METADATA
# title: Other ports
# description: Web pages are served from the ports of their schemes; the settings say what is done with others.
# custom:
#   requirements: [POL-3, POL-4]
findings contains {
	"verdict": data.interlock.settings.webfetch.other_port,
	"code": "other_port",
	"message": sprintf("not the usual port: %s", [data.interlock.rules.shown(elsewhere_served)]),
	"rule": "webfetch/port",
} if {
	asked_for(data.interlock.settings.webfetch.other_port)
	count(elsewhere_served) > 0
}

elsewhere_served contains named(url) if {
	some url in fetch.urls
	not usually_served(url)
	not wanted_inside(url)
}

usually_served(url) if url.default_port == true
