// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Lastro
import LastroTesting
import LastroWire
import TestSupport
import Testing

@testable import LastroExchange

/// One request and its answer over a stream, without policy above it.
@Suite("An exchange over a stream", .timeLimit(.minutes(5)))
struct StreamExchangeTests {
  private static let patient = ExchangeTimes(Countdown(.seconds(60)), idle: .seconds(60), code: .totalTimeout)

  /// An exchange whose far end is given back, too.
  private func exchange(
    _ request: ResponseReader.Request = .ordinary, longestRead: Int = .max, limits: ExchangeLimits = ExchangeLimits(),
    within times: ExchangeTimes = patient
  ) -> (exchange: StreamExchange, far: NestedFarEnd) {
    let (near, far) = MemoryStream.pair(.init(longestRead: longestRead))
    return (StreamExchange(over: near, asking: request, limits: limits, within: times), NestedFarEnd(far))
  }

  private func failure(_ body: () async throws(TransportError) -> Void) async -> TransportError? {
    do throws(TransportError) {
      try await body()
      return nil
    } catch {
      return error
    }
  }

  @Test("a request goes out, an answer comes in, and what lies behind it stays", arguments: [1, 2, 3, 7, 64, Int.max])
  func whole(longestRead: Int) async throws {
    var (exchange, far) = exchange(longestRead: longestRead)
    try await exchange.send(Data("GET / HTTP/1.1\r\nHost: h\r\n\r\n".utf8))
    #expect(try await far.readHead() == "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    try await far.write(
      "HTTP/1.1 103 Early\r\n\r\nHTTP/1.1 404 No\r\nA: b\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n")
    let head = try await exchange.receiveHead()
    #expect(head.status == 404)
    #expect(try await exchange.collectBody(upTo: 3) == Data("abc".utf8))
    #expect(exchange.keepsStream)
    #expect(exchange.facts.httpVersion == "1.1" && exchange.facts.bytesReceived == 3)
  }

  @Test("what was read behind an answer is given back once, and the stream is not for another exchange")
  func leftover() async throws {
    var (exchange, far) = exchange(.upgrade)
    try await far.write("HTTP/1.1 101 Switching\r\n\r\nfirst frame")
    #expect(try await exchange.receiveHead().status == 101)
    #expect(!exchange.keepsStream)
    #expect(exchange.takeLeftover() == Array("first frame".utf8))
    #expect(exchange.takeLeftover().isEmpty)

    var (other, otherFar) = self.exchange()
    try await otherFar.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhiHTTP/1.1 200 OK\r\n\r\n")
    _ = try await other.receiveHead()
    #expect(try await other.collectBody(upTo: 10) == Data("hi".utf8))
    #expect(!other.keepsStream)
  }

  @Test(
    "every violation has one stage and one code, and the request counts as sent",
    arguments: [
      ("SSH-2.0-x\r\n", FailureStage.response, FailureCode.malformedResponse),
      ("HTTP/1.1 200 OK\r\nno colon\r\n\r\n", .response, .malformedResponse),
      ("HTTP/1.1 101 Switching\r\n\r\n", .response, .malformedResponse),
      ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5 5\r\n", .response, .malformedResponse),
      ("HTTP/1.1 200 OK\r\nA: 1\r\nB: 2\r\nC: 3\r\n\r\n", .limit, .headTooLarge),
      ("HTTP/1.1 200 OK\r\nA: \(String(repeating: "x", count: 200))", .limit, .headTooLarge),
      ("HTTP/1.1 100 C\r\n\r\nHTTP/1.1 100 C\r\n\r\n", .limit, .tooManyInterimResponses),
      ("HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n", .limit, .bodyTooLarge),
      ("HTTP/1.1 200 OK\r\n\r\n01234567890", .limit, .bodyTooLarge),
      ("", .response, .connectionLost), ("HTTP/1.1 200 OK\r\n", .response, .connectionLost),
      ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc", .response, .truncatedBody),
    ])
  func violations(sent: String, stage: FailureStage, code: FailureCode) async throws {
    let limits = ExchangeLimits(headBytes: 150, fields: 2, interimResponses: 1)
    var (exchange, far) = exchange(limits: limits)
    try await far.write(sent)
    try await far.stream.finishWriting()
    let error = await failure { () async throws(TransportError) in
      _ = try await exchange.receiveHead()
      _ = try await exchange.collectBody(upTo: 10)
    }
    #expect(error?.stage == stage && error?.code == code && error?.requestSent == true)
    #expect((error?.hint != nil) == (code == .bodyTooLarge))
  }

  @Test("an end before the head can be told from a failure")
  func noHead() async throws {
    var (exchange, far) = exchange()
    try await far.write("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 2")
    try await far.stream.finishWriting()
    #expect(try await exchange.receiveHeadIfAny() == nil)
  }

  @Test("the deadline ends an exchange with a silent server, and with one that never ends", arguments: [false, true])
  func deadline(drips: Bool) async throws {
    let times = ExchangeTimes(Countdown(.milliseconds(30)), idle: .seconds(60), code: .attemptTimeout)
    var (exchange, far) = exchange(within: times)
    let dripping = Task {
      while drips {
        try await far.write("HTTP/1.1 100 Continue\r\n")
        try await far.write("A: b\r\n\r\n")
      }
    }
    let limits = ExchangeLimits(headBytes: .max / 2, interimResponses: .max)
    if drips { exchange = StreamExchange(over: exchange.stream, limits: limits, within: times) }
    let error = await failure { () async throws(TransportError) in _ = try await exchange.receiveHead() }
    #expect(error?.stage == .timeout && error?.code == .attemptTimeout && error?.requestSent == true)
    #expect(error?.message == "the deadline passed while waiting for the response")
    exchange.stream.close()
    dripping.cancel()
    _ = await dripping.result
  }

  @Test("the deadline of a dial is the dial's")
  func dialDeadline() async throws {
    var (exchange, far) = exchange(within: ExchangeTimes(Countdown(.zero), code: .connectTimeout))
    let error = await failure { () async throws(TransportError) in _ = try await exchange.receiveHead() }
    #expect(error?.code == .connectTimeout && error?.message == TransportError.dialTimedOut.message)
    far.stream.close()
  }

  @Test("idleness ends an exchange before its deadline, in head, body and writing")
  func idle() async throws {
    let times = ExchangeTimes(Countdown(.seconds(60)), idle: .milliseconds(20), code: .totalTimeout)
    for sent in ["", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab"] {
      var (exchange, far) = exchange(within: times)
      try await far.write(sent)
      let error = await failure { () async throws(TransportError) in
        _ = try await exchange.receiveHead()
        _ = try await exchange.collectBody(upTo: 10)
      }
      #expect(error?.stage == .timeout && error?.code == .idleTimeout && error?.requestSent == true)
      far.stream.close()
    }
    let (near, far) = MemoryStream.pair(.init(capacity: 4))
    let exchange = StreamExchange(over: near, within: times)
    let error = await failure { () async throws(TransportError) in try await exchange.send(Data(count: 100)) }
    #expect(error?.code == .idleTimeout && error?.requestSent == true)
    far.close()
  }

  @Test("a task that is cancelled ends its exchange, with the cancelled error")
  func cancellation() async throws {
    let (exchange, far) = exchange()
    let task = Task {
      var exchange = exchange
      return await failure { () async throws(TransportError) in _ = try await exchange.receiveHead() }
    }
    task.cancel()
    let error = await task.value
    #expect(error?.code == .cancelled && error?.requestSent == true)
    far.stream.close()
  }

  @Test(
    "of a body that is not whole, what came is kept, and why it is not whole",
    arguments: [
      ("Content-Length: 5\r\n\r\nhello", false, "hello", nil),
      ("Content-Length: 6\r\n\r\nhello!", false, "hello", FailureCode.bodyTooLarge),
      ("Content-Length: 1000000\r\n\r\nhello!", false, "hello", .bodyTooLarge),
      ("Content-Length: 5\r\n\r\nhel", true, "hel", .truncatedBody),
      ("Content-Length: 5\r\n\r\nhel", false, "hel", .truncatedBody), ("\r\nhel", true, "hel", nil),
      ("Transfer-Encoding: chunked\r\n\r\n3\r\nhel\r\nzz\r\n", false, "hel", .malformedResponse),
    ])
  func salvage(sent: String, ends: Bool, kept: String, code: FailureCode?) async throws {
    var (exchange, far) = exchange()
    try await far.write("HTTP/1.1 403 No\r\n" + sent)
    if ends { try await far.stream.finishWriting() }
    _ = try await exchange.receiveHead()
    let isSilent = !ends && code == .truncatedBody
    let (bytes, cut) = await exchange.salvageBody(upTo: 5, within: isSilent ? .milliseconds(20) : .seconds(60))
    #expect(bytes == Data(kept.utf8))
    #expect(cut?.code == code)
    #expect(exchange.facts.bytesReceived >= Int64(kept.utf8.count))
    far.stream.close()
  }
}
