// pip and apt through the proxy: indexes, packages, and a second machine that costs the origin nothing.
import TestSupport
import Testing

@Suite struct PackageManagerTests {
  @Test func pipDownloadsAWheelTwiceAndTheOriginSendsItOnce() throws {
    try withRig { rig in
      let nginx = try rig.nginx(serverLines: "location / { autoindex on; }")
      let wheel = "larder_demo-1.0-py3-none-any.whl"
      let folder = "\(nginx.root)/simple/larder-demo"
      try makeFolder(folder)
      try writeFile(
        rig.folder.file("wheel.py"),
        """
        import os, sys, zipfile
        info = 'larder_demo-1.0.dist-info/'
        with zipfile.ZipFile(sys.argv[1], 'w', zipfile.ZIP_STORED) as wheel:
          wheel.writestr('larder_demo/__init__.py', 'x = 1')
          wheel.writestr('larder_demo/data.bin', os.urandom(1500000))
          wheel.writestr(info + 'METADATA', 'Metadata-Version: 2.1\\nName: larder-demo\\nVersion: 1.0\\n')
          wheel.writestr(info + 'WHEEL', 'Wheel-Version: 1.0\\nGenerator: x\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')
          wheel.writestr(info + 'RECORD', '')
        """)
      try mustRun("python3", [rig.folder.file("wheel.py"), "\(folder)/\(wheel)"])
      let bytes = try readFile("\(folder)/\(wheel)")
      let larder = try rig.larder()
      for place in ["first", "second"] {
        try makeFolder(rig.folder.file(place))
        try mustRun(
          "python3",
          [
            "-m", "pip", "download", "--isolated", "-q", "--no-cache-dir", "--no-deps", "--disable-pip-version-check",
            "--proxy", "http://127.0.0.1:\(larder.port)", "--index-url", nginx.url("/simple/"), "--trusted-host",
            "127.0.0.1", "-d", rig.folder.file(place), "larder-demo",
          ], environment: ["HOME": rig.folder.path], seconds: Patience.seconds * 4)
        try expectBytes(readFile("\(rig.folder.file(place))/\(wheel)"), bytes)
      }
      let log = try rig.settledLog(of: nginx)
      #expect(log.filter { $0.path.hasSuffix(".whl") }.bodyBytes == bytes.count)
    }
  }

  @Test func aptUpdatesAndDownloadsTwiceAndTheOriginSendsThePackageOnce() throws {
    try withRig { rig in
      let nginx = try rig.nginx()
      let package = rig.folder.file("package")
      try makeFolder("\(package)/DEBIAN")
      try makeFolder("\(package)/usr/share/larder-demo")
      try writeFile(
        "\(package)/DEBIAN/control",
        """
        Package: larder-demo
        Version: 1.0
        Architecture: all
        Maintainer: Nobody <nobody@example.org>
        Description: nothing much

        """)
      try PatternBody(seed: 13, size: 900_000).write(to: "\(package)/usr/share/larder-demo/data")
      let archive = "\(nginx.root)/debian/larder-demo_1.0_all.deb"
      try makeFolder("\(nginx.root)/debian")
      try mustRun("dpkg-deb", ["-Znone", "--root-owner-group", "-b", package, archive])
      let bytes = try readFile(archive)
      let sum = try mustRun("sha256sum", [archive]).outputText.split(separator: " ").first ?? ""
      try nginx.publish(
        "/debian/Packages",
        Array(
          """
          Package: larder-demo
          Version: 1.0
          Architecture: all
          Maintainer: Nobody <nobody@example.org>
          Filename: ./larder-demo_1.0_all.deb
          Size: \(bytes.count)
          SHA256: \(sum)
          Description: nothing much

          """.utf8))
      let larder = try rig.larder()
      for place in ["first", "second"] {
        let home = rig.folder.file(place)
        for folder in ["state/lists/partial", "cache/archives/partial", "etc/apt.conf.d", "etc/preferences.d", "got"] {
          try makeFolder("\(home)/\(folder)")
        }
        try writeFile("\(home)/etc/sources.list", "deb [trusted=yes] \(nginx.url("/debian")) ./\n")
        try writeFile("\(home)/state/status", "")
        let options = [
          "Dir::State=\(home)/state", "Dir::State::status=\(home)/state/status", "Dir::Cache=\(home)/cache",
          "Dir::Etc=\(home)/etc", "APT::Sandbox::User=", "Acquire::http::Proxy=http://127.0.0.1:\(larder.port)",
          "Acquire::Languages=none", "Acquire::Retries=0", "Debug::NoLocking=1",
        ].flatMap { ["-o", $0] }
        try mustRun("apt-get", options + ["-q", "update"], environment: ["HOME": home])
        try mustRun(
          "apt-get", options + ["-q", "download", "larder-demo"], environment: ["HOME": home], folder: "\(home)/got")
        try expectBytes(readFile("\(home)/got/larder-demo_1.0_all.deb"), bytes)
      }
      let log = try rig.settledLog(of: nginx)
      #expect(log.filter { $0.path.hasSuffix(".deb") }.bodyBytes == bytes.count)
      #expect(log.filter { $0.path.hasSuffix("/Packages") && $0.status == 200 }.count == 1)
    }
  }
}
