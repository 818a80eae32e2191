// SPDX-License-Identifier: Apache-2.0

import Foundation
import Lastro

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

/// Reads only while the gate is open.
final class GatedStream: ByteStream {
  private let stream: any ByteStream
  private let gate: Gate

  init(_ stream: any ByteStream, _ gate: Gate) {
    self.stream = stream
    self.gate = gate
  }

  var facts: StreamFacts { stream.facts }

  func read(upTo maximum: Int, within limit: Duration?) async throws(TransportError) -> Data? {
    await gate.pass()
    return try await stream.read(upTo: maximum, within: limit)
  }

  func write(_ data: Data, within limit: Duration?) async throws(TransportError) {
    try await stream.write(data, within: limit)
  }

  func finishWriting(within limit: Duration?) async throws(TransportError) {
    try await stream.finishWriting(within: limit)
  }

  func close() { stream.close() }
}
