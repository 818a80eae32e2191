// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Lastro
import Testing

@testable import LastroResilience

@Suite("RateLimit fields")
struct RateLimitFieldsTests {
  private static func quota(_ fields: [(String, String)]) throws -> ServerQuota? {
    var result = HTTPFields()
    for (name, value) in fields { result.append(HTTPField(name: try #require(HTTPField.Name(name)), value: value)) }
    return RateLimitFields.quota(result, sinceEpoch: .seconds(1_800_000_000))
  }

  @Test("RateLimit takes precedence over older names, and of several policies the tightest applies")
  func fields() throws {
    let rows: [([(String, String)], ServerQuota?)] = [
      ([("RateLimit", #""burst";r=50;t=30"#)], .init(left: 50, reset: .seconds(30))),
      (
        [("RateLimit", #""burst";r=50;t=30"#), ("RateLimit-Policy", #""burst";q=100;w=60"#)],
        .init(left: 50, reset: .seconds(30), whole: 100)
      ),
      (
        [("RateLimit", #""a";r=50;t=10, "b";r=9;t=60"#), ("RateLimit-Policy", #""b";q=10;qu="content-bytes""#)],
        .init(left: 50, reset: .seconds(10))
      ),
      ([("RateLimit", #""a";r=50;t=10, "b";r=9;t=60"#)], .init(left: 9, reset: .seconds(60))),
      ([("RateLimit", #""a";r=0, "b";r=9;t=60"#)], .init(left: 9, reset: .seconds(60))),
      ([("RateLimit", #""a";r=50"#)], .init(left: 50, reset: .zero)),
      ([("RateLimit", "limit=100, remaining=50, reset=50")], nil),
      ([("RateLimit", #""a";r=-1;t=5"#)], nil), ([("RateLimit", #""a";r=1.5;t=5"#)], nil), ([("RateLimit", "")], nil),
      ([("RateLimit", #"("a" "b");r=50;t=30, "c";r=9;t=60"#)], .init(left: 9, reset: .seconds(60))),
      (
        [("X-RateLimit-Limit", "60"), ("X-RateLimit-Remaining", "56"), ("X-RateLimit-Reset", "1800000090")],
        .init(left: 56, reset: .seconds(90), whole: 60)
      ),
      (
        [("X-RateLimit-Remaining-Requests", "9"), ("X-RateLimit-Reset-Requests", "6m0s")],
        .init(left: 9, reset: .seconds(360))
      ),
      ([("RateLimit-Remaining", "3"), ("RateLimit-Reset", "20")], .init(left: 3, reset: .seconds(20))),
      ([("RateLimit-Remaining", "-3"), ("RateLimit-Reset", "20")], nil),
      ([("RateLimit-Remaining", "3"), ("RateLimit-Reset", "soon")], nil),
      ([("RateLimit-Remaining", "99999999999999999999"), ("RateLimit-Reset", "1")], nil),
    ]
    for (fields, expected) in rows { #expect(try Self.quota(fields) == expected, "\(fields)") }
  }

  @Test("Durations are parsed in all spellings, invalid ones are ignored, and long ones are clamped")
  func durations() {
    let rows: [(String, Duration?)] = [
      ("0", .zero), ("1.5", .milliseconds(1_500)), ("1h2m3s", .seconds(3_723)), ("250ms", .milliseconds(250)),
      ("6m0s", .seconds(360)), ("", nil), ("-1", nil), ("nan", nil), ("inf", nil), ("5 s", nil), ("5x", nil),
      ("-0", nil), ("+1", nil), ("+1m", nil), ("m", nil), ("1e300", .seconds(1_000_000_000)), ("1799999999", .zero),
      ("9999999999999999999h", .seconds(1_000_000_000)),
    ]
    for (text, expected) in rows { #expect(RateLimitFields.wait(text, .seconds(1_800_000_000)) == expected, "\(text)") }
  }
}
