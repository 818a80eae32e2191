// SPDX-License-Identifier: Apache-2.0

import Lastro
import Testing

@testable import LastroHTTP

@Suite("HTTP versions of a host")
struct HostVersionsTests {
  @Test("A server that requires HTTP/1.1 is asked for HTTP/2 again after five minutes")
  func requirement() {
    var versions = HostVersions(.automatic, isTLS: true)
    let minute: Int64 = 60_000_000_000
    #expect(versions.offer(now: minute) == ["h2", "http/1.1"])
    versions.requireHTTP1(now: minute)
    #expect(versions.offer(now: minute) == ["http/1.1"])
    #expect(versions.offer(now: 6 * minute - 1) == ["http/1.1"])
    #expect(versions.offer(now: 6 * minute) == ["h2", "http/1.1"])
  }

  @Test("HTTP/2 by prior knowledge without TLS stays selected after HTTP_1_1_REQUIRED")
  func clear() {
    var versions = HostVersions(.http2, isTLS: false)
    versions.requireHTTP1(now: 0)
    #expect(versions.sharesDials(now: 1))
  }
}
