// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroSupport

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// A meek session: one request after the other, bytes up in their bodies, bytes down in the answers.
///
/// Order is all there is to tell the server which bytes it has: a request that may have reached it is never sent again,
/// and its failure is the session's end.
final class MeekSession: Sendable {
  /// Sends one request's body and gives the answer's. Throws with `requestSent` where the server may have it.
  typealias Exchange = @Sendable (Data) async throws(TransportError) -> Data

  struct State {
    var outgoing = Data()
    var incoming = Data()
    var failure: TransportError?
    var isClosed = false
    var turns = Turns()
    /// Our direction is over.
    var isFinished = false
    /// Bytes of the request that is under way.
    var underWay = 0
    var polling: Task<Void, Never>?

    /// The server has every byte that was written. After a failure it stays what it was.
    var isFlushed: Bool { outgoing.isEmpty && underWay == 0 }
  }

  /// Of one body, either way (`maxPayloadLength`).
  static let payloadBytes = 65_536
  /// Taken from the writer before it waits.
  static let outgoingBytes = 2 * payloadBytes
  /// Kept for the reader; there is no request unless a whole answer has room.
  static let incomingBytes = 4 * payloadBytes
  private static let firstPause = Duration.milliseconds(100)
  private static let longestPause = Duration.seconds(5)
  private static let attempts = 5
  /// The longest that a closed session lives on to send what was written.
  private static let farewell = Duration.seconds(5)

  let state = Watched(State())
  private let exchange: Exchange
  private let time: TimeSource

  init(time: TimeSource, exchange: @escaping Exchange) {
    self.time = time
    self.exchange = exchange
  }

  /// Makes the first request, which carries nothing: it shows that server and front are there.
  func open() async throws(TransportError) {
    let answer = try await send(Data())
    state.change { $0.incoming.append(answer) }
    let polling = Task { await poll(isQuiet: answer.isEmpty) }
    let isClosed = state.change { state in
      state.polling = polling
      return state.isClosed
    }
    if isClosed { polling.cancel() }
  }

  /// Bytes that were taken from a writer go out all the same, within limits.
  func close() {
    let (polling, isFlushed) = state.change { state in
      state.isClosed = true
      state.incoming = Data()
      defer { state.polling = nil }
      return (state.polling, state.isFlushed || state.failure != nil)
    }
    guard let polling else { return }
    if isFlushed { return polling.cancel() }
    Task { [time] in
      _ = await interruptible(within: Self.farewell, time: time) { await polling.value }
      polling.cancel()
    }
  }

  /// A pause after a request that moved nothing, longer each time; none after one that did.
  private func poll(isQuiet: Bool) async {
    var pause = isQuiet ? Self.firstPause : .zero
    while await waitForTurn(pause), let body = take() {
      do throws(TransportError) {
        let answer = try await send(body)
        state.change { state in
          state.underWay = 0
          if !state.isClosed { state.incoming.append(answer) }
        }
        if body.isEmpty, answer.isEmpty {
          pause = pause == .zero ? Self.firstPause : min(pause * 3 / 2, Self.longestPause)
        } else {
          pause = .zero
        }
      } catch {
        // What is not sent stays, and tells that something was lost.
        state.change { $0.failure = error }
        return
      }
    }
  }

  /// False when the session is closed, and has nothing left to send.
  private func waitForTurn(_ pause: Duration) async -> Bool {
    if pause > .zero {
      let wait = await state.wait(within: pause, time: time) { $0.isClosed || !$0.outgoing.isEmpty }
      if case .failure(.cancelled) = wait { return false }
    }
    let room = await state.wait(within: nil, time: time) {
      $0.isClosed || $0.incoming.count <= Self.incomingBytes - Self.payloadBytes
    }
    if case .failure = room { return false }
    return state.read { !$0.isClosed || !$0.outgoing.isEmpty }
  }

  private func take() -> Data? {
    state.change { state in
      if state.isClosed, state.outgoing.isEmpty { return nil }
      let body = Data(state.outgoing.prefix(Self.payloadBytes))
      state.outgoing = Data(state.outgoing.dropFirst(body.count))
      state.underWay = body.count
      return body
    }
  }

  /// One request, made again only where none of it was sent.
  private func send(_ body: Data) async throws(TransportError) -> Data {
    var pause = Self.firstPause
    for _ in 1..<Self.attempts {
      do throws(TransportError) {
        return try await exchange(body)
      } catch {
        guard !error.requestSent, error.mayPass else { throw error }
      }
      // Closing the session cancels this wait, when it is time to.
      let wait = await state.wait(within: pause, time: time) { _ in false }
      guard case .failure(.limit) = wait else { throw .cancelled() }
      pause = min(pause * 2, Self.longestPause)
    }
    return try await exchange(body)
  }
}

extension TransportError {
  /// Whether the same may succeed a moment later.
  fileprivate var mayPass: Bool {
    switch code {
    case .connectFailed, .connectTimeout, .connectionLost, .proxyConnectFailed: true
    default: false
    }
  }
}
