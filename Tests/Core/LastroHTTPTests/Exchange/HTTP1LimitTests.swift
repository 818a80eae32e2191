// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import LastroTesting
import TestSupport
import Testing

@testable import Lastro
@testable import LastroHTTP

/// A dialer whose dials never complete.
private struct HangingDialer: Dialer {
  let dials = EventRecorder<DialRequest>()

  func dial(_ request: DialRequest) async throws(TransportError) -> any ByteStream {
    dials.record(request)
    // The dial ends when its task is cancelled.
    while !Task.isCancelled { try? await Task.sleep(for: .seconds(3600)) }
    throw .cancelled()
  }
}

@Suite("Dialer transport: time limits", .timeLimit(.minutes(15)))
struct HTTP1LimitTests {
  private static let limits: [(sent: String, code: FailureCode, wait: Duration, hasHead: Bool)] = [
    ("", .idleTimeout, .seconds(5), false), ("HTTP/1.1 200 OK\r\n", .idleTimeout, .seconds(5), false),
    ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab", .idleTimeout, .seconds(5), true),
    ("", .attemptTimeout, .seconds(3), false),
    ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab", .attemptTimeout, .seconds(3), true),
  ]

  @Test("The idle limit and the deadline end an exchange at every stage", arguments: limits)
  func silence(sent: String, code: FailureCode, wait: Duration, hasHead: Bool) async throws {
    let clock = ManualClock()
    let served = EventRecorder<Int>()
    let server = MemoryServer { far, _ in
      _ = try await far.readHead()
      try await far.write(sent)
      served.record(1)
      _ = try await far.readToEnd()
      served.record(2)
    }
    let transport = try server.transport { $0.timeSource = clock.timeSource }
    let request = TransferRequest.to {
      // The other limit is too far away to pass, however far the clock moves before this one is noticed.
      $0.idleTimeout = code == .idleTimeout ? wait : .seconds(1_000_000)
      $0.deadline = code == .idleTimeout ? .seconds(1_000_000) : wait
      $0.deadlineCode = .attemptTimeout
    }
    let task = Task { await failure { () async throws(TransportError) in try await transport.execute(request) } }
    _ = try await served.waitForEvents(count: 1)
    // Bytes that arrived late have restarted the idle limit.
    _ = try await clock.moving(by: wait) { try await served.waitForEvents(count: 2) }
    let error = await task.value
    #expect(error?.stage == .timeout && error?.code == code && error?.requestSent == true)
    #expect(hasHead || error?.head == nil)
  }

  @Test("The connect limit ends the wait for a dial, and an earlier deadline ends it first")
  func connecting() async throws {
    let clock = ManualClock()
    let dialer = HangingDialer()
    var configuration = DialerTransport.Configuration()
    configuration.timeSource = clock.timeSource
    let transport = try DialerTransport(over: dialer, configuration: configuration)
    for (number, deadline, code) in [(1, 60, FailureCode.connectTimeout), (2, 2, .totalTimeout)] {
      let request = TransferRequest.to(authority: "h\(deadline)") {
        $0.connectTimeout = .seconds(4)
        $0.deadline = .seconds(deadline)
      }
      let task = Task { await failure { () async throws(TransportError) in try await transport.execute(request) } }
      _ = try await dialer.dials.waitForEvents(count: number)
      try await clock.waitForLimits(count: 1)
      clock.advance(by: .seconds(5))
      let error = await task.value
      #expect(error?.code == code && error?.requestSent == false)
    }
    await transport.shutDown(cancelling: true)
  }

  @Test("A request's connect limit runs while it waits for another request's dial")
  func sharedDial() async throws {
    let clock = ManualClock()
    let dialer = HangingDialer()
    var configuration = DialerTransport.Configuration()
    configuration.timeSource = clock.timeSource
    let transport = try DialerTransport(over: dialer, configuration: configuration)
    let patient = Task { try await transport.execute(.to(scheme: "https") { $0.connectTimeout = .seconds(600) }) }
    _ = try await dialer.dials.waitForEvents(count: 1)
    let task = Task {
      await failure { () async throws(TransportError) in
        try await transport.execute(.to(scheme: "https") { $0.connectTimeout = .seconds(4) })
      }
    }
    try #require(await eventually { clock.nextLimit.map { $0 <= .seconds(5) } ?? false })
    clock.advance(by: .seconds(5))
    let error = await task.value
    #expect(error?.code == .connectTimeout && error?.requestSent == false && dialer.dials.count == 1)
    await transport.shutDown(cancelling: true)
    await #expect(throws: TransportError.self) { try await patient.value }
  }

  @Test("A queued request ends at its deadline, and those behind it continue")
  func waiting() async throws {
    let clock = ManualClock()
    let gate = EventRecorder<Int>()
    let server = MemoryServer { far, _ in
      while case let head = try await far.readHead(), !head.isEmpty {
        if head.contains("/first") {
          gate.record(1)
          _ = try await gate.waitForEvents(count: 2)
        }
        try await far.write("HTTP/1.1 204 No\r\n\r\n")
      }
    }
    let transport = try server.transport {
      $0.timeSource = clock.timeSource
      $0.connectionsPerHost = 1
    }
    let first = Task { try await transport.execute(.to("/first")) }
    _ = try await gate.waitForEvents(count: 1)
    let second = Task {
      await failure { () async throws(TransportError) in
        try await transport.execute(.to("/second") { $0.deadline = .seconds(2) })
      }
    }
    try #require(await eventually { clock.nextLimit == .seconds(2) })
    let third = Task { try await transport.execute(.to("/third")) }
    clock.advance(by: .seconds(2))
    let error = await second.value
    #expect(error?.code == .totalTimeout && error?.requestSent == false)
    gate.record(2)
    #expect(try await first.value.head.status == .noContent)
    #expect(try await third.value.head.status == .noContent)
    #expect(server.dials.count == 1)
  }

  @Test("A cancelled task ends its exchange at once, at every stage", arguments: [0, 1, 2])
  func cancellation(stage: Int) async throws {
    let served = EventRecorder<Int>()
    let server = MemoryServer { far, _ in
      served.record(0)
      _ = try await far.readHead()
      if stage > 0 { try await far.write("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n") }
      if stage > 1 { try await far.write("ab") }
      served.record(1)
      _ = try await far.readToEnd()
      served.record(2)
    }
    let transport = try server.transport()
    let task = Task { await failure { () async throws(TransportError) in try await transport.execute(.to()) } }
    _ = try await served.waitForEvents(count: 2)
    task.cancel()
    #expect(await task.value?.code == .cancelled)
    // The request's connection is closed.
    _ = try await served.waitForEvents(count: 3)
    let dialing = try DialerTransport(over: HangingDialer())
    let other = Task { await failure { () async throws(TransportError) in try await dialing.execute(.to()) } }
    other.cancel()
    #expect(await other.value?.code == .cancelled)
    await dialing.shutDown(cancelling: true)
  }

  @Test("Reading an error body ends at its time limit")
  func patience() async throws {
    let clock = ManualClock()
    let served = EventRecorder<Int>()
    let server = MemoryServer { far, _ in
      _ = try await far.readHead()
      try await far.write("HTTP/1.1 503 Busy\r\nContent-Length: 9\r\n\r\nab")
      served.record(1)
      _ = try await far.readToEnd()
      served.record(2)
    }
    let transport = try server.transport {
      $0.timeSource = clock.timeSource
      $0.errorBodyTime = .seconds(2)
    }
    let task = Task { try await transport.execute(.to { $0.deadline = .seconds(1_000_000) }) }
    _ = try await served.waitForEvents(count: 1)
    _ = try await clock.moving(by: .seconds(1)) { try await served.waitForEvents(count: 2) }
    let answer = try await task.value
    #expect(answer.head.status.code == 503 && answer.facts.bodyCut?.code == .truncatedBody)
  }
}
