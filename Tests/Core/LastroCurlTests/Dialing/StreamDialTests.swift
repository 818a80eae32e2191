// SPDX-License-Identifier: Apache-2.0

import Lastro
import Testing

@testable import LastroCurl
@testable import LastroHTTP

@Suite("Limits of dials")
struct StreamDialTests {
  private func dial(connect: Duration?, deadline: Duration?) throws -> StreamDial {
    let target = try #require(TrustTarget(authority: "far.example", defaultPort: 443))
    return try StreamDial(
      LinkDial(
        id: 1, request: DialRequest(host: "far.example", port: 443, connectTimeout: connect), target: target,
        options: SharedOptions(nil), route: Route(key: "far.example", origin: nil), member: nil,
        deadline: deadline))
  }

  @Test("A dial whose request was served by another connection ends soon after that request's deadline")
  func bounded() throws {
    let before = monotonicNow()
    let dial = try dial(connect: nil, deadline: .seconds(3))
    #expect((before.adding(.seconds(4))...monotonicNow().adding(.seconds(4))).contains(dial.expiresAt))
  }

  @Test("A request's connect limit applies to the dial that it starts")
  func own() throws {
    let before = monotonicNow()
    let dial = try dial(connect: .seconds(9), deadline: .seconds(3))
    #expect((before.adding(.seconds(9))...monotonicNow().adding(.seconds(9))).contains(dial.expiresAt))
  }

  @Test("A request without limits starts a dial without a limit")
  func none() throws {
    #expect(try dial(connect: nil, deadline: nil).expiresAt == .max)
  }
}
