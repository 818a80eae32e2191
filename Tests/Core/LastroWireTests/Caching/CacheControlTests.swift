// SPDX-License-Identifier: Apache-2.0

import LastroWire
import Testing

@Suite("Parsing Cache-Control")
struct CacheControlTests {
  @Test(
    "Only digits count as seconds, also when quoted; anything else is zero",
    arguments: [
      ("max-age=3600", 3_600), ("MAX-AGE=3600", 3_600), ("max-age=\"3600\"", 3_600), ("max-age=003600", 3_600),
      ("max-age=99999999999999999999999", CacheControl.maximumSeconds), ("max-age=2147483649", 2_147_483_648),
      ("max-age='3600'", 0), ("max-age=3600.5", 0), ("max-age=a1", 0), ("max-age=-1", 0), ("max-age =3600", 0),
      ("max-age= 3600", 0), ("max-age=", 0), ("max-age", 0), ("max-age=\"36\\00\"", 3_600), ("max-age=\"\"", 0),
      ("max-age=1, max-age=2", 1), (", ,max-age=7 ,", 7), ("\tmax-age=7\t", 7),
    ] as [(String, Int64)])
  func seconds(line: String, expected: Int64) { #expect(CacheControl([line]).maxAge == expected) }

  @Test("A directive inside a quoted string is ignored, and one after it counts")
  func quoted() {
    let control = CacheControl(["ext=\"max-age=3600, no-store\", no-cache, other=\"a\\\"b, public\""])
    #expect(control.maxAge == nil && !control.noStore && !control.isPublic)
    #expect(control.noCache)
  }

  @Test("An unterminated quoted string hides no directive")
  func unterminated() { #expect(CacheControl(["ext=\"abc, no-store"]).noStore) }

  @Test("A line with a hundred thousand unmatched quotes is scanned once")
  func manyQuotes() {
    #expect(CacheControl(["x=" + String(repeating: "\"\\", count: 130_000) + ", no-store"]).noStore)
  }

  @Test("Lines are joined, unknown directives ignored, and directives with field names count as without")
  func lines() {
    let control = CacheControl(["x-y=1, no-cache=\"set-cookie\"", "private=\"a\"", "@=1, =5", "must-revalidate"])
    #expect(control.noCache && control.isPrivate && control.mustRevalidate)
    #expect(!CacheControl(["x, y=2"]).isEmpty)
    #expect(CacheControl([]).isEmpty && CacheControl([", ,"]).isEmpty)
  }

  @Test("Every directive is recognised by its name, and by no other")
  func names() {
    let rows: [(String, KeyPath<CacheControl, Bool>)] = [
      ("no-store", \.noStore), ("no-cache", \.noCache), ("must-revalidate", \.mustRevalidate),
      ("proxy-revalidate", \.proxyRevalidate), ("must-understand", \.mustUnderstand), ("public", \.isPublic),
      ("private", \.isPrivate), ("immutable", \.isImmutable), ("only-if-cached", \.onlyIfCached),
    ]
    for (name, path) in rows {
      for (other, _) in rows { #expect(CacheControl([other])[keyPath: path] == (other == name)) }
    }
    #expect(CacheControl(["max-stale"]).maxStale == CacheControl.maximumSeconds)
    #expect(CacheControl(["max-stale=5"]).maxStale == 5)
    #expect(CacheControl(["stale-while-revalidate=5, stale-if-error=6, s-maxage=7, min-fresh=8"]).staleIfError == 6)
    #expect(CacheControl(["stale-while-revalidate=5"]).staleWhileRevalidate == 5)
    #expect(CacheControl(["s-maxage=7"]).sharedMaxAge == 7)
    #expect(CacheControl(["min-fresh=8"]).minFresh == 8)
  }

  @Test("A min-fresh that is not a number counts as the largest, because zero would allow the most reuse")
  func invalidMinFresh() {
    for text in ["min-fresh", "min-fresh=", "min-fresh=x", "min-fresh=-1", "min-fresh = 8", "min-fresh=x, min-fresh=8"]
    {
      #expect(CacheControl([text]).minFresh == CacheControl.maximumSeconds, "\(text)")
      #expect(CacheControl([text.replacing("min-fresh", with: "max-age")]).maxAge == 0, "\(text)")
    }
  }

  @Test("Arbitrary bytes do not trap")
  func hostile() {
    let pieces = ["\"", "\\", ",", "=", " ", "max-age", "no-store", "\u{0}", "é", "9999999999999999999", "\t", "'"]
    var state: UInt64 = 7
    for _ in 0..<20_000 {
      var text = ""
      for _ in 0..<8 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        text += pieces[Int(state >> 33) % pieces.count]
      }
      let control = CacheControl([text])
      #expect((control.maxAge ?? 0) >= 0)
    }
  }
}
