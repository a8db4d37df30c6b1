// Targeted fields (RFC 9213): not by default, and as a dictionary where the settings name them.
import Testing

@Suite(.larder()) struct LetterUntargetedTests {
  static let rows: [Row] = [
    twice("9213 §2.2 not on the list: ignored", ["CDN-Cache-Control: max-age=6000"], .fetched()),
    twice(
      "9213 §2.2 not on the list: forbids nothing", ["Cache-Control: max-age=6000", "CDN-Cache-Control: no-store"],
      .stored(has: ["CDN-Cache-Control: no-store"])),
  ]
  @Test(arguments: rows) func untargeted(_ row: Row) throws { try play(row) }
}

@Suite(.larder(["freshness.targeted_fields": "[Own-Cache-Control, CDN-Cache-Control]"])) struct LetterTargetedTests {
  static let hit = Step.stored(), miss = Step.fetched()
  static let rows: [Row] = [
    twice("9213 §2.2 instead of nothing", ["CDN-Cache-Control: max-age=6000"], hit),
    twice("9213 §2.2 instead of a shorter one", ["Cache-Control: max-age=0", "CDN-Cache-Control: max-age=6000"], hit),
    twice("9213 §2.2 instead of a longer one", ["Cache-Control: max-age=6000", "CDN-Cache-Control: max-age=0"], miss),
    twice("9213 §2.2 instead of no-store", ["Cache-Control: no-store", "CDN-Cache-Control: max-age=6000"], hit),
    twice("9213 §2.2 no-store", ["Cache-Control: max-age=6000", "CDN-Cache-Control: no-store"], miss),
    twice("9213 §2.2 private", ["Cache-Control: max-age=6000", "CDN-Cache-Control: private"], miss),
    twice(
      "9213 §2.2 no-cache", ["Cache-Control: max-age=6000", "CDN-Cache-Control: no-cache", "Expires: {+6000}"], miss),
    twice("9213 §2.2 Expires is ignored", ["CDN-Cache-Control: max-age=0", "Expires: {+6000}"], miss),
    twice("9213 §2.2 a past Expires too", ["CDN-Cache-Control: max-age=6000", "Expires: {-6000}"], hit),
    twice(
      "9213 §2.2 the first of the list", ["CDN-Cache-Control: max-age=6000", "Own-Cache-Control: max-age=0"], miss),
    twice(
      "9213 §2.2 the next where the first is empty", ["Own-Cache-Control:", "CDN-Cache-Control: max-age=6000"], hit),
    twice(
      "9213 §2.1 no dictionary: ignored", ["Cache-Control: no-store", "CDN-Cache-Control: max-age=6000, &&"], miss),
    twice("9213 §2.1 and the other counts", ["Cache-Control: max-age=6000", "CDN-Cache-Control: no-store, &&"], hit),
    twice("9213 §2.1 whitespace before =", ["Cache-Control: max-age=0", "CDN-Cache-Control: max-age =60"], miss),
    twice("9213 §2.1 keys have no capitals", ["Cache-Control: max-age=0", "CDN-Cache-Control: MAX-AGE=6000"], miss),
    twice("9213 §2.1 a string is no number", ["CDN-Cache-Control: max-age=\"6000\""], miss),
    twice("9213 §2.1 a decimal is no number", ["CDN-Cache-Control: max-age=6000.0"], miss),
    twice("9213 §2.1 parameters are ignored", ["CDN-Cache-Control: max-age=6000;x=1"], hit),
    twice("9213 §2.1 unknown directives", ["CDN-Cache-Control: foo=(a b), bar, max-age=6000"], hit),
    twice("9213 §2.1 ?0 says nothing", ["CDN-Cache-Control: no-store=?0, max-age=6000"], hit),
    twice("9213 §2.1 the last of a key", ["CDN-Cache-Control: max-age=0, max-age=6000"], hit),
    twice(
      "9213 §2.1 names of fields", ["CDN-Cache-Control: no-cache=\"x-a\", max-age=6000", "X-A: 1"],
      .stored(lacks: ["X-A"]), first: .fetched(has: ["X-A: 1"])),
    twice("9111 §4.2.3 Age counts", ["CDN-Cache-Control: max-age=6000", "Age: 6100"], miss),
    twice(
      "9213 §2.2 it is passed on", ["CDN-Cache-Control: max-age=6000"],
      .stored(has: ["CDN-Cache-Control: max-age=6000"])),
    twice("9213 §2.2 none of them: as ever", ["Cache-Control: max-age=6000"], hit),
  ]
  @Test(arguments: rows) func targeted(_ row: Row) throws { try play(row) }
}
