// SPDX-License-Identifier: Apache-2.0

import Lastro
import Testing

@testable import LastroHTTP

@Suite("Versions of HTTP of a host")
struct HostVersionsTests {
  @Test("a server that requires HTTP/1.1 is asked for HTTP/2 again after five minutes")
  func requirement() {
    var versions = HostVersions(.automatic, isTLS: true)
    let minute: Int64 = 60_000_000_000
    #expect(versions.offer(now: minute).names == ["h2", "http/1.1"])
    versions.requireHTTP1(now: minute)
    #expect(versions.offer(now: minute).names == ["http/1.1"])
    #expect(versions.offer(now: 6 * minute - 1).names == ["http/1.1"])
    #expect(versions.offer(now: 6 * minute).names == ["h2", "http/1.1"])
  }

  @Test("in the clear, where HTTP/2 is known beforehand, nothing is required")
  func clear() {
    var versions = HostVersions(.http2, isTLS: false)
    versions.requireHTTP1(now: 0)
    #expect(versions.sharesDials(now: 1))
  }
}
