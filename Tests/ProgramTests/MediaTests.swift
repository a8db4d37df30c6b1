// ffprobe and ffmpeg through the proxy: a film whose index is at its end, and seeks into its middle.
import TestSupport
import Testing

@Suite struct MediaTests {
  /// Makes a film of 30 seconds, its index at the end or in front.
  private func film(_ rig: Rig, indexInFront: Bool) throws -> [UInt8] {
    let file = rig.folder.file("film.mp4")
    try mustRun(
      "ffmpeg",
      [
        "-v", "error", "-f", "lavfi", "-i", "testsrc2=duration=30:size=640x360:rate=12", "-c:v", "mpeg4", "-q:v", "2",
        "-g", "12", "-threads", "1", "-y",
      ] + (indexInFront ? ["-movflags", "+faststart"] : []) + [file])
    return try readFile(file)
  }

  @Test(arguments: [false, true])
  func seeksAndProbesFetchNoByteTwice(indexInFront: Bool) throws {
    try withRig { rig in
      let film = try film(rig, indexInFront: indexInFront)
      #expect(film.count > 2_000_000)
      let nginx = try rig.nginx()
      try nginx.publish("/film.mp4", film)
      let larder = try rig.larder()
      let environment = through(larder, home: rig.folder.path)
      let url = nginx.url("/film.mp4")

      let probe = ["-v", "error", "-show_entries", "format=duration,size", "-of", "csv=p=0"]
      let expected = try mustRun("ffprobe", probe + [rig.folder.file("film.mp4")]).outputText
      for _ in 0..<2 {
        #expect(try mustRun("ffprobe", probe + [url], environment: environment).outputText == expected)
      }
      for second in ["25", "3", "14", "25", "3"] {
        let frame = { (input: String) in
          ["-v", "error", "-ss", second, "-i", input, "-frames:v", "2", "-an", "-f", "framemd5", "-"]
        }
        let local = try mustRun("ffmpeg", frame(rig.folder.file("film.mp4"))).outputText
        #expect(try mustRun("ffmpeg", frame(url), environment: environment).outputText == local)
      }
      let whole = try RawClient.fetch(url, through: larder.port)
      expectBytes(whole.body, film)
      // A player that leaves in the middle may end a fill whose bytes are in the socket's buffer already; the film is
      // small enough that every fill is finished instead.
      try expectSent(film.count, by: nginx, rig)
    }
  }
}
