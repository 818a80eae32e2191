// SPDX-License-Identifier: Apache-2.0

import Foundation
import Lastro
import LastroSupport

/// Hands out one stream.
struct SocketStreamDialer: Dialer {
  let stream: any ByteStream
  init(_ stream: any ByteStream) { self.stream = stream }
  func dial(_ request: DialRequest) async throws(TransportError) -> any ByteStream { stream }
}

/// Keeps dial requests, and hands the streams of another dialer on.
struct DialRecorder: Dialer {
  let inner: any Dialer
  let requests = Lock<[DialRequest]>([])
  /// What must not be talked to without TLS; what was asked about.
  var pinned: Set<String> = []
  let asked = Lock<[DialRequest]>([])

  init(inner: any Dialer, pinned: Set<String> = []) {
    self.inner = inner
    self.pinned = pinned
  }

  func checkPlaintext(_ request: DialRequest) throws(TransportError) {
    asked.withLock { $0.append(request) }
    if pinned.contains(request.host) {
      throw TransportError(stage: .trust, code: .plaintextRefused, message: "pinned")
    }
  }
  func dial(_ request: DialRequest) async throws(TransportError) -> any ByteStream {
    requests.withLock { $0.append(request) }
    return try await inner.dial(request)
  }
}

/// Open, or closed for a while.
final class Gate: Sendable {
  private struct State {
    var isOpen = true
    var waiters: [CheckedContinuation<Void, Never>] = []
  }

  private let state = Lock(State())

  func close() { state.withLock { $0.isOpen = false } }

  func open() {
    let waiters = state.withLock { state in
      state.isOpen = true
      defer { state.waiters = [] }
      return state.waiters
    }
    for waiter in waiters { waiter.resume() }
  }

  func pass() async {
    await withCheckedContinuation { continuation in
      let isOpen = state.withLock { state in
        if !state.isOpen { state.waiters.append(continuation) }
        return state.isOpen
      }
      if isOpen { continuation.resume() }
    }
  }
}

/// Reads and writes only while the gate is open, or reads only. What was read while it closed is held back too.
final class GatedStream: ByteStream {
  private let stream: any ByteStream
  private let gate: Gate
  private let gatesWriting: Bool

  init(_ stream: any ByteStream, _ gate: Gate, gatesWriting: Bool = true) {
    self.stream = stream
    self.gate = gate
    self.gatesWriting = gatesWriting
  }

  var facts: StreamFacts { stream.facts }

  func read(upTo maximum: Int, within limit: Duration?) async throws(TransportError) -> Data? {
    await gate.pass()
    let data = try await stream.read(upTo: maximum, within: limit)
    await gate.pass()
    return data
  }

  func write(_ data: Data, within limit: Duration?) async throws(TransportError) {
    if gatesWriting { await gate.pass() }
    try await stream.write(data, within: limit)
  }

  func finishWriting(within limit: Duration?) async throws(TransportError) {
    try await stream.finishWriting(within: limit)
  }

  func close() { stream.close() }
}

/// Tells what is done with it, and fails to write when it is told to.
final class ToldStream: ByteStream {
  private let stream: any ByteStream
  /// "finish", "end" when nothing more is to be read, and "close".
  let told: AsyncStream<String>
  let isBroken = Lock(false)
  private let teller: AsyncStream<String>.Continuation

  init(_ stream: any ByteStream) {
    self.stream = stream
    (told, teller) = AsyncStream.makeStream()
  }

  var facts: StreamFacts { stream.facts }

  func read(upTo maximum: Int, within limit: Duration?) async throws(TransportError) -> Data? {
    let data = try await stream.read(upTo: maximum, within: limit)
    if data == nil { teller.yield("end") }
    return data
  }

  func write(_ data: Data, within limit: Duration?) async throws(TransportError) {
    if isBroken.withLock(\.self) {
      throw TransportError(stage: .send, code: .sendFailed, message: "broken pipe", requestSent: true)
    }
    try await stream.write(data, within: limit)
  }

  func finishWriting(within limit: Duration?) async throws(TransportError) {
    teller.yield("finish")
    try await stream.finishWriting(within: limit)
  }

  func close() {
    teller.yield("close")
    stream.close()
  }
}
