// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import LastroSupport
import LastroTesting
import LastroWire
import TestSupport
import Testing

@testable import Lastro
@testable import LastroHTTP

/// A connector that holds each request until it is released.
private final class HoldingConnector: Connector, RouteState, @unchecked Sendable {
  // Sendable because only the loop's thread touches `proceed`.
  private var proceed: (() -> Void)?
  let checks = EventRecorder<Int>()
  let dials = EventRecorder<Int>()

  func route(for key: HostKey, with options: SharedOptions) throws(TransportError) -> Route {
    Route(key: key.authority, origin: nil, state: self)
  }

  func mustCheck(now: Int64) -> Bool { true }

  func check(until: Int64, _ proceed: @escaping () -> Void) {
    self.proceed = proceed
    checks.record(1)
  }

  func dial(_ dial: LinkDial, for owner: HostPool) { dials.record(1) }

  func cancelDial(_ id: UInt64) {}

  func letGo() { proceed?() }
}

@Suite("Closed engines", .timeLimit(.minutes(15)))
struct ClosedEngineTests {
  @Test("A trust check that ends after its engine was closed starts nothing")
  func lateCheck() async throws {
    let loop = try EventLoop()
    let connector = HoldingConnector()
    do {
      let port = EnginePort.open(on: loop, EngineSettings(), options: SharedOptions(nil)) { _ in connector }
      let task = Task {
        await failure { () async throws(TransportError) in
          try await port.execute(.to(), own: nil, asks: .ordinary)
        }
      }
      _ = try await connector.checks.waitForEvents(count: 1)
      task.cancel()
      #expect(await task.value?.stage == .cancelled)
    }
    let calls = EventRecorder<Int>()
    _ = loop.inbox.perform { _ in
      connector.letGo()
      calls.record(1)
    }
    _ = try await calls.waitForEvents(count: 1)
    #expect(connector.checks.count == 1 && connector.dials.count == 0)
  }
}
