// nginx as a caching proxy in front of the origin: the peer that everybody has.
import TestSupport

/// An nginx that caches, in one process without workers, with its access log off.
final class CachingNginx {
  let port: UInt16
  let process: ChildProcess

  /// Caches what the origin at `origin` gives, in `folder`. Slices of 1 MiB are what makes ranges of a cached object
  /// possible in nginx; kept connections to the origin are what it gets from Larder too.
  init(in folder: String, origin: UInt16) throws {
    try makeFolder(folder)
    // A port that is free now; it is asked again until nginx listens on it.
    port = try ListeningSocket(listens: false).port
    let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
      .map { "\($0)_temp_path \(folder)/\($0);" }.joined(separator: "\n  ")
    try writeFile(
      "\(folder)/nginx.conf",
      """
      daemon off;
      master_process off;
      pid \(folder)/nginx.pid;
      error_log \(folder)/error.log;
      events { worker_connections 1024; }
      http {
        \(temporary)
        access_log off;
        sendfile on;
        tcp_nopush on;
        keepalive_requests 100000000;
        proxy_cache_path \(folder)/cache levels=1:2 keys_zone=bench:16m max_size=20g inactive=1d use_temp_path=off;
        upstream origin { server 127.0.0.1:\(origin); keepalive 16; }
        server {
          listen 127.0.0.1:\(port);
          location / {
            slice 1m;
            proxy_cache bench;
            proxy_cache_key $request_uri$slice_range;
            proxy_cache_valid 200 206 1d;
            proxy_set_header Range $slice_range;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_pass http://origin;
          }
        }
      }

      """)
    process = try ChildProcess(
      "nginx", ["-p", folder, "-c", "\(folder)/nginx.conf", "-e", "\(folder)/error.log"],
      environment: ["PATH": "/usr/sbin:/usr/bin:/sbin:/bin"])
  }

  deinit { process.kill9() }
}
