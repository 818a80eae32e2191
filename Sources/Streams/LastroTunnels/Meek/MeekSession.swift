// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Lastro
internal import LastroSupport

/// A meek session: sequential requests, with outgoing bytes in their bodies and incoming bytes in the responses.
///
/// The server can only tell by their order which bytes it has received. A request that may have reached it is therefore
/// never resent, and its failure ends the session.
final class MeekSession: Sendable {
  /// Sends the body of a request and returns that of the response. Errors have `requestSent` set if the server may have
  /// received the request.
  typealias Exchange = @Sendable (Data) async throws(TransportError) -> Data

  struct State {
    var outgoing = Data()
    var incoming = Data()
    var failure: TransportError?
    var isClosed = false
    var turns = Turns()
    /// Whether the outgoing direction has ended.
    var isFinished = false
    /// The number of bytes in the current request.
    var underWay = 0
    var polling: Task<Void, Never>?

    /// Whether the server has received every written byte. After a failure the value no longer changes.
    var isFlushed: Bool { outgoing.isEmpty && underWay == 0 }
  }

  /// The maximum size of a body in either direction (`maxPayloadLength`).
  static let payloadBytes = 65_536
  /// The number of bytes that are accepted from the writer before it has to wait.
  static let outgoingBytes = 2 * payloadBytes
  /// The number of bytes that are kept for the reader; a request is sent only if there is room for a whole response.
  static let incomingBytes = 4 * payloadBytes
  private static let firstPause = Duration.milliseconds(100)
  private static let longestPause = Duration.seconds(5)
  private static let attempts = 5
  /// The longest time that a closed session continues, to send the bytes written before.
  private static let farewell = Duration.seconds(5)

  let state = Watched(State())
  private let exchange: Exchange
  private let time: TimeSource

  init(time: TimeSource, exchange: @escaping Exchange) {
    self.time = time
    self.exchange = exchange
  }

  /// Sends the first request, which has no payload: it verifies that server and front are reachable.
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

  /// Closes the session. Bytes that were accepted from a writer are still sent, within limits.
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

  /// Sends requests. After an exchange without bytes it pauses, longer each time; after any other it does not.
  private func poll(isQuiet: Bool) async {
    var pause = isQuiet ? Self.firstPause : .zero
    while await waitForTurn(pause), let body = takeBody() {
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
        // Keep `underWay`: it shows that data was lost.
        state.change { $0.failure = error }
        return
      }
    }
  }

  /// Waits until the next request is due; returns false if the session is closed and has nothing left to send.
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

  private func takeBody() -> Data? {
    state.change { state in
      if state.isClosed, state.outgoing.isEmpty { return nil }
      let body = Data(state.outgoing.prefix(Self.payloadBytes))
      state.outgoing = Data(state.outgoing.dropFirst(body.count))
      state.underWay = body.count
      return body
    }
  }

  /// Sends one request; retries only if no part of it was sent.
  private func send(_ body: Data) async throws(TransportError) -> Data {
    var pause = Self.firstPause
    for _ in 1..<Self.attempts {
      do throws(TransportError) {
        return try await exchange(body)
      } catch {
        guard !error.requestSent, error.mayPass else { throw error }
      }
      // Closing the session cancels this wait when its time has passed.
      let wait = await state.wait(within: pause, time: time) { _ in false }
      guard case .failure(.limit) = wait else { throw .cancelled() }
      pause = min(pause * 2, Self.longestPause)
    }
    return try await exchange(body)
  }
}

extension TransportError {
  /// Whether a retry may succeed a moment later.
  fileprivate var mayPass: Bool {
    switch code {
    case .connectFailed, .connectTimeout, .connectionLost, .proxyConnectFailed: true
    default: false
    }
  }
}
