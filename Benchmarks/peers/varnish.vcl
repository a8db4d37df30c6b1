# Varnish 7.1 in front of the origin; the rest of its choices are arguments (Sources/Servers/PeerServers.swift):
#
#   -s malloc,…            memory, as the issue's table has it: Varnish's files are slower and forget all at a restart
#   -p thread_pools=1      one pool of threads, all on the one core that every server has
#   -p thread_pool_min=50  threads wait for the 16 connections instead of being started for them
#   -j none                no change of user: the folder is ours
#   -T none -S none        no port for orders
#
# Varnish always writes its log into shared memory; nobody reads it here, so its access log is off.
vcl 4.1;

backend origin {
  .host = "@host@";
  .port = "@origin_port@";
  # Never less than the connections that the load has.
  .max_connections = 256;
}

sub vcl_backend_response {
  # The origin says max-age=86400 for all; no second copy of anything is kept beyond that.
  set beresp.grace = 0s;
  set beresp.keep = 0s;
  # Clients get a cold object while it comes, and 12 of them the same one. It is the default, and what the rows need.
  set beresp.do_stream = true;
}
